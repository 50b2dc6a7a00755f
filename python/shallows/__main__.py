"""The command `shallows`, and `python -m shallows`."""

import sys


def main() -> None:
    """Run the command line. Ctrl-C prints one line, also while modules are being imported."""
    try:
        from shallows.cli import main
    except KeyboardInterrupt:
        print("shallows: interrupted before there was anything to save", file=sys.stderr)
        sys.exit(130)
    main()


def flow_session() -> None:
    """Run `shallows flow-session`. Programs that start `BINARY --flow-session` name this as their binary."""
    sys.argv[1:] = ["flow-session", *(word for word in sys.argv[1:] if word != "--flow-session")]
    main()


if __name__ == "__main__":
    main()
