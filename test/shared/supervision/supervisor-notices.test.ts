import t from "tap";
import {
  noNotices,
  type SupervisorNotices,
} from "../../../shared/supervision/supervisor-notices.js";

t.test("without a supervisor no notice arrives", async (t) => {
  const notices: SupervisorNotices = noNotices;
  t.notOk(notices.accepted);
  t.notOk(await notices.send({ ready: true, status: "serves" }));
});
