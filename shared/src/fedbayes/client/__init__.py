"""What a researcher uses: submit and wait with progress, read and plot results, the command line.

Nothing is imported here, so that the command starts fast: see `.local` and `.remote` (submitting), `.kinds` (reading), `.figures`
(matplotlib figures, also for notebooks), `.report` (HTML) and `.cli`.
"""
