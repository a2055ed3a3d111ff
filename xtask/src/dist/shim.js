#!/usr/bin/env node
"use strict";
const { spawnSync } = require("node:child_process");
const name = `PUBLISHED_NAME-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/agentry`);
} catch {
  console.error(`error: the package \`${name}\` is not installed`);
  console.error("  = help: install with optional dependencies; there is a package for Linux on x64 and arm64");
  process.exit(2);
}
// The terminal sends signals to the program as well; it decides how to end.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});
const { status, signal, error } = spawnSync(program, process.argv.slice(2), { stdio: "inherit" });
if (error) {
  console.error(`error: \`${program}\` could not be started: ${error.message}`);
  process.exit(2);
}
if (signal) {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}
process.exit(status ?? 1);
