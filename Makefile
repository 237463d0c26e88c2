# A thin front for Meson and the scripts; `make help` lists the targets.
BUILD ?= build
PREFIX ?= /usr/local

.PHONY: all help packages web demo test test-farm test-threads coverage golden lint studio blender bench bench-gpu test-gpu evidence install clean format

all: $(BUILD)/build.ninja ## build the libraries and build/sinew
	@ninja -C $(BUILD) product

$(BUILD)/build.ninja: | packages
	@meson setup $(BUILD)

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile

packages: ## install missing Debian packages (NO_INSTALL=1 only names them)
	@scripts/install-packages core

web: | packages ## install what the studio needs beside `packages`
	@scripts/install-packages web
	@if [ -f $(BUILD)/build.ninja ] && ! grep -q studio/page.c $(BUILD)/build.ninja; then meson setup --reconfigure $(BUILD); fi

demo: all ## run the main job on the built-in rigs; writes build/demo/index.html
	@scripts/demo $(BUILD)

test: packages ## build every variant and run all tests and the lint
	@scripts/test

coverage: packages ## lines and branches that the tests run; build-coverage/html/index.html
	@scripts/coverage $(ROOMS)

test-threads: packages ## look for data races with ThreadSanitizer
	@scripts/test-threads

golden: all ## compare results on the samples with tests/golden/hashes.json
	@tests/golden/run $(BUILD)/sinew

test-farm: all ## sinew farm on a Slurm that runs for the test alone
	@scripts/install-packages farm
	@scripts/test-farm

lint: ## prefixes, direction of includes, format
	@scripts/lint

studio: web all ## the local page
	@$(BUILD)/sinew studio

blender: all ## the Blender add-on: build/sinew-blender.zip
	@scripts/blender-zip $(BUILD)

bench: all ## named benchmark cases: table, JSON and plot under build/bench
	@ninja -C $(BUILD) bench/sinew-bench
	@scripts/bench $(BUILD) $(CASES)

test-gpu: all ## run the tests of GPU frames on this machine's device
	@ninja -C $(BUILD) tests/test-gpu
	@SINEW_GPU_LIBRARY=$(CURDIR)/$(BUILD)/src/gpu/libsinew-gpu.so.0 SINEW_COMMAND=$(CURDIR)/$(BUILD)/sinew $(BUILD)/tests/test-gpu

bench-gpu: all ## time GPU frames on this machine's device; CASES=words picks some
	@ninja -C $(BUILD) bench/bench-gpu
	@SINEW_GPU_LIBRARY=$(CURDIR)/$(BUILD)/src/gpu/libsinew-gpu.so.0 $(BUILD)/bench/bench-gpu $(CASES)

evidence: $(BUILD)/build.ninja ## long tables over real data (needs SINEW_DATA); TABLES=words picks some
	@ninja -C $(BUILD)
	@scripts/evidence $(BUILD) $(TABLES)

install: all ## install under PREFIX
	@meson configure $(BUILD) -Dprefix=$(PREFIX)
	@ninja -C $(BUILD) product
	@meson install --no-rebuild -C $(BUILD)

format: ## apply .clang-format
	@git ls-files '*.c' '*.h' | xargs clang-format -i

clean:
	rm -rf build build-*
