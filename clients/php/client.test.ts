import { join } from "node:path";
import { findProgram } from "../testing/programs.ts";
import { clientSuite } from "../testing/suite.ts";

const needed = "the tests of the PHP client need PHP 8.1 with curl (apt-get install php-cli php-curl).";
const php = findProgram(
  ["php"],
  ["-r", "exit(PHP_VERSION_ID >= 80100 && extension_loaded('curl') ? 0 : 1);"],
  needed,
);
const driver = join(import.meta.dir, "tests/driver.php");

clientSuite("php", php === null ? null : { command: [php, "-d", "error_reporting=-1", driver] }, {
  isSenderOnly: true,
  canClose: false,
});
