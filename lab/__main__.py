"""``python3 -m lab COMMAND``: needs Python's standard library alone."""

import argparse
import sys

from lab import bootstrap, cli, environment, errors, layout, lock, steps

_CHANGING = frozenset(
    {"up", "demo", "start", "stop", "restart", "down", "wipe"}
)
_BUILDING = frozenset({"up", "demo"})


def main() -> int:
    """Run one command; failures that can be expected are told in words."""
    options = cli.parser().parse_args()
    try:
        return _run(options)
    except steps.StepError as failure:
        print(errors.render(failure.step, failure.error), file=sys.stderr)
    except errors.LabError as error:
        print(errors.render(options.command, error), file=sys.stderr)
    except KeyboardInterrupt:
        print(
            "\nInterrupted. What was started still runs: see"
            " 'python3 -m lab status'; 'python3 -m lab down' stops it.",
            file=sys.stderr,
        )
        return 130
    except BrokenPipeError:
        return 141
    return 1


def _run(options: argparse.Namespace) -> int:
    if options.command == "test":
        from lab.commands import test

        return test.run()
    held = None
    if options.command in _CHANGING:
        held = lock.take(options.command)
    if options.command in _BUILDING:
        bootstrap.prepare()
    if not bootstrap.inside():
        if options.command in ("down", "wipe") and not layout.PYTHON.exists():
            print("There is nothing to stop.")
            return 0
        bootstrap.enter(held)
    environment.enter()
    return _dispatch(options, held)


def _dispatch(options: argparse.Namespace, held: int | None) -> int:
    """The commands that need the lab's own packages."""
    # Only now: before it, these packages may not be there.
    from lab.commands import services, up

    match options.command:
        case "up":
            up.run()
        case "demo":
            from lab.commands import demo

            return demo.run(held, keep=options.keep)
        case "status":
            return services.status()
        case "logs":
            services.logs(
                options.service, follow=options.follow, lines=options.lines
            )
        case "start":
            services.start(options.service)
        case "stop":
            services.stop(options.service, kill=options.kill)
        case "restart":
            services.restart(options.service)
        case "down":
            services.down()
        case "wipe":
            services.wipe()
    return 0


if __name__ == "__main__":
    sys.exit(main())
