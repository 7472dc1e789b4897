"""The text of an issue: what a maintainer needs to know, as Markdown to paste."""
