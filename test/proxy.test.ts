/** All of `test/proxy`. */
import { testFolder } from "./folder.js";

await testFolder("proxy");
