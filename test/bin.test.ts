/** All of `test/bin`. */
import { testFolder } from "./run-folder.js";

await testFolder("bin", { jobs: 3 });
