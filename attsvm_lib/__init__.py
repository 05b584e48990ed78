"""Transformers as support vector machines: the library behind the book."""
