import { join } from "node:path";
import { findProgram, pythons } from "../testing/programs.ts";
import { clientSuite } from "../testing/suite.ts";

const needed = "the tests of the Python client need Python 3.9 or newer (apt-get install python3).";
const python = findProgram(pythons, ["-c", "import sys; sys.exit(sys.version_info < (3, 9))"], needed);

clientSuite(
  "python",
  python === null
    ? null
    : {
        command: [python, "-W", "error", join(import.meta.dir, "tests/driver.py")],
        environment: { PYTHONPATH: join(import.meta.dir, "src"), PYTHONDONTWRITEBYTECODE: "1" },
      },
);
