// On a narrow screen the button for Jupyter in the browser opens the notebook alone: a list of files would leave it no
// room.
document.addEventListener("click", ({ target }) => {
  const link = target.closest?.("a[href*='lite/lab/index.html']");
  if (link && matchMedia("(max-width: 767px)").matches) link.href = link.href.replace("lite/lab/", "lite/notebooks/");
});
