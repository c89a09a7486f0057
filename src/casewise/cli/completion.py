"""`casewise --install-completion`."""

from cyclopts.completion.install import create_install_completion_command

from casewise.cli.app import app

install = create_install_completion_command(app.install_completion, add_to_startup=True)
