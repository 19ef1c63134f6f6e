/** All of `test/end-to-end/endpoints`. */
import { testFolder } from "../run-folder.js";

await testFolder("end-to-end/endpoints", { oneByOne: true });
