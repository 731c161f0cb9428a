"""What a researcher uses: submit and wait with progress, read and plot results, the command line.

Nothing is imported here, so that the command starts fast: see `.running` (submitting), `.kinds` (reading), `.figures`
(matplotlib figures, also for notebooks), `.pages.report` (HTML) and `.cli`.
"""
