# Every target works on a fresh machine with Python 3.11 or newer, make and access to PyPI.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: install demo test messages lint bench soak browser exiftool screen

install: .venv/installed-all

demo: .venv/installed
	$(BIN)/panfocus demo --force

test: .venv/installed-all browser exiftool screen
	$(BIN)/python -m pytest -n 2 --dist loadfile  # two workers: many tests wait for a browser or for processes

# Rewrite tests/messages.json after a change of wording.
messages: .venv/installed-all
	$(BIN)/python -m pytest --update-messages

lint: .venv/installed-all
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/installed-all
	$(BIN)/python -m benchmarks

# Takes half an hour on two cores; `make test` has a short form of each run.
soak: .venv/installed-all
	$(BIN)/python -m soak.fuzz --count 20000
	$(BIN)/python -m soak.kills --count 200

# Browser for tests. If apt cannot install it, these tests are skipped, or fail if CI is set.
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo -n)
browser:
	@command -v chromium >/dev/null \
	|| { $(SUDO) apt-get update -qq \
	     && $(SUDO) env DEBIAN_FRONTEND=noninteractive \
	        apt-get install -qq --no-install-recommends chromium; } \
	|| echo "no browser, and apt cannot install one: the tests that need it are skipped"

# exiftool for tests of metadata, in the same way.
exiftool:
	@command -v exiftool >/dev/null \
	|| { $(SUDO) apt-get update -qq \
	     && $(SUDO) env DEBIAN_FRONTEND=noninteractive \
	        apt-get install -qq --no-install-recommends libimage-exiftool-perl; } \
	|| echo "no exiftool, and apt cannot install it: the tests that need it are skipped"

# A virtual screen, with the libraries of Qt and OpenGL, for tests of the napari plugin.
screen:
	@command -v Xvfb >/dev/null \
	|| { $(SUDO) apt-get update -qq \
	     && $(SUDO) env DEBIAN_FRONTEND=noninteractive \
	        apt-get install -qq --no-install-recommends xvfb libegl1 libgl1 libgl1-mesa-dri libglx-mesa0 \
	        libdbus-1-3 fontconfig libxkbcommon0 libxkbcommon-x11-0 libxcb-cursor0 libxcb-icccm4 libxcb-image0 \
	        libxcb-keysyms1 libxcb-randr0 libxcb-render-util0 libxcb-shape0 libxcb-xinerama0 libxcb-xkb1; } \
	|| echo "no Xvfb, and apt cannot install it: the tests that need it are skipped"

.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

.venv/installed-all: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,lint,bench,raw,reproduce,app,dask,napari,ome]'
	touch $@
