"""`python -m validation`, from the root of the repository."""

from validation.cli import app

if __name__ == "__main__":  # false in processes that measure
    app(prog_name="python -m validation")
