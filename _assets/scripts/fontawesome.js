// Stands in for the theme's icon script (1.5 MB, 542 kB compressed): the theme's style sheet and web font draw the same icons.
