"""This machine: the project's folder, files, Java, and what is missing."""
