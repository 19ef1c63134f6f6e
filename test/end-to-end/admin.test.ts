/** All of `test/end-to-end/admin`. */
import { testFolder } from "../run-folder.js";

await testFolder("end-to-end/admin", { oneByOne: true });
