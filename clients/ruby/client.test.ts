import { join } from "node:path";
import { findProgram } from "../testing/programs.ts";
import { clientSuite } from "../testing/suite.ts";

const needed = "the tests of the Ruby client need Ruby 3.0 or newer (apt-get install ruby).";
const ruby = findProgram(["ruby"], ["-e", "exit RUBY_VERSION >= '3.0'"], needed);

clientSuite(
  "ruby",
  ruby === null ? null : { command: [ruby, "-w", join(import.meta.dir, "tests/driver.rb")] },
  { isSenderOnly: true },
);
