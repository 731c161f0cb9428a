"""Where central goes next: private Newton, BFGS on seen predictors, the published consensus."""
