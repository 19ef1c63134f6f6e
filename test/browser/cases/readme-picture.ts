/** The README's pictures show the dashboard as it is. */
import { readFileSync } from "node:fs";
import t from "tap";
import { pictureText, readmeText } from "../../dashboard/readme-picture.js";
import { startSeededGateway } from "../../dashboard/seeded-gateway.js";
import { launchBrowser, noBrowser, openDashboard, openGateway } from "../browser.js";

const masterKey = "sk-readme-picture-0123456789abcdef";

t.test("the README's pictures show the dashboard as it is", { skip: noBrowser }, async (t) => {
  const gateway = await startSeededGateway(t, masterKey);
  await gateway.sendRounds(4);
  const watched = await openGateway(await launchBrowser(t), gateway.url, { key: masterKey });
  await openDashboard(watched, gateway.url);
  t.equal(
    await readmeText(watched.page),
    readFileSync(pictureText, "utf8"),
    "else look at what has changed, and take them anew: npm run heavy -- pictures readme",
  );
});
