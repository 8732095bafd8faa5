"""Your own group, asked: what explains it, what would happen to it, what to set.

A group document (:func:`assignlab.groups.read`) becomes a
:class:`~assignlab.advice.subject.Subject`; each question is a file that makes a
:class:`~assignlab.advice.report.Report` of it, which is told as text, JSON or one page.
"""
