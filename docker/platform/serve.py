"""Serves vantage6 by the gevent server of flask-socketio, in one process: serve.py CONFIGURATION PORT."""

import sys

from vantage6.server import run_dev_server, run_server

run_dev_server(run_server(sys.argv[1], system_folders=False), host="0.0.0.0", port=int(sys.argv[2]))
