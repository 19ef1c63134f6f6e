/** Webhooks as their receivers get them: the verifier of Standard Webhooks decides. */
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook as Verifier } from "standardwebhooks";
import t, { type Test } from "tap";
import { emailOf } from "../../../proxy/alerts/alert-message.js";
import { testDestinations } from "../../../proxy/alerts/test-destinations.js";
import { createWebhook, type Webhook } from "../../../proxy/alerts/webhook.js";
import type { Alert } from "../../../shared/wire/alert.js";
import { exactly } from "../../support/patterns/exactly.js";

const secret = `whsec_${Buffer.alloc(32, 9).toString("base64")}`;
const alert: Alert = {
  id: "alert_1",
  type: "budget.threshold",
  created_at: "2026-11-29T12:00:00.000Z",
  scope: "user_path",
  subject: "/customers/a<b>&c",
  template: "/customers",
  period_label: "monthly",
  period_seconds: 2_592_000,
  period_start: "2026-11-01T00:00:00Z",
  period_end: "2026-12-01T00:00:00Z",
  threshold: 0.8,
  usage_ratio: 0.81,
  amount: 10,
  spent: 8.1,
};

async function webhookTo(
  t: Test,
  handle: RequestListener,
  format: "json" | "slack" = "json",
): Promise<Webhook> {
  const server = createServer(handle);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return createWebhook(
    {
      id: "x",
      url: `http://127.0.0.1:${port}/secret-path`,
      at: [0.8],
      forecast: true,
      rateLimits: false,
      format,
      secret: format === "json" ? secret : null,
      secretFile: null,
      proxy: null,
    },
    { nowMs: Date.now, timeoutMs: 10_000 },
  );
}

/** The body and headers of what a webhook sends. */
async function sentBy(t: Test, format: "json" | "slack", sent = alert) {
  const got: { text: string; headers: Record<string, string> }[] = [];
  const webhook = await webhookTo(
    t,
    (request, response) => {
      let text = "";
      request.on("data", (piece: Buffer) => (text += piece.toString()));
      request.on("end", () => {
        got.push({ text, headers: request.headers as Record<string, string> });
        response.end("ok");
      });
    },
    format,
  );
  t.equal(await webhook.send(sent), null);
  return got[0]!;
}

t.test("the signature is right for the whole body, and for nothing else", async (t) => {
  const { text, headers } = await sentBy(t, "json");
  t.match(new Verifier(secret).verify(text, headers), {
    type: "budget.threshold",
    timestamp: alert.created_at,
    data: { id: "alert_1", subject: alert.subject, email: emailOf(alert) },
  });
  const other = `whsec_${Buffer.alloc(32, 8).toString("base64")}`;
  t.throws(() => new Verifier(other).verify(text, headers));
  t.throws(() => new Verifier(secret).verify(`${text} `, headers));
  t.throws(() => new Verifier(secret).verify(text, { ...headers, "webhook-id": "alert_2" }));
});

t.test("Slack gets a text whose names can't be markup", async (t) => {
  const { text, headers } = await sentBy(t, "slack");
  t.same(Object.keys(JSON.parse(text) as object), ["text"]);
  t.match(text, /\/customers\/a&lt;b&gt;&amp;c has spent 80% of its monthly budget/);
  t.equal(headers["webhook-signature"], undefined);
});

t.test("an answer that isn't a success is a failure, with its reason", async (t) => {
  for (const [status, reason] of [
    [500, / answered 500$/],
    [404, / answered 404$/],
    [302, / answered 302, and redirects aren't followed$/],
  ] as const) {
    const webhook = await webhookTo(t, (_request, response) => {
      response.writeHead(status, { location: "http://127.0.0.1:1/" }).end();
    });
    const found = await webhook.send(alert);
    t.match(found, reason);
    t.notMatch(found, /secret-path/);
  }
  const resets = await webhookTo(t, (request) => void request.socket.destroy());
  t.match(await resets.send(alert), /socket hang up|ECONNRESET/);
});

t.test("a receiver that doesn't answer, or never ends its answer, holds nothing up", async (t) => {
  const silent = await webhookTo(t, () => {});
  const quick = createWebhook(silent.config, { nowMs: Date.now, timeoutMs: 200 });
  t.match(await quick.send(alert), / was silent for 0\.2 s$/);
  const endless = await webhookTo(t, (_request, response) => void response.write("..."));
  t.equal(await endless.send(alert), null, "the status is all that counts");
  const ids = { nowMs: Date.now, newId: () => "7" };
  t.match(
    await testDestinations([quick, endless], ids),
    exactly([
      { delivered: false, reason: / was silent / },
      { delivered: true, reason: null },
    ]),
  );
});

t.test("each kind of alert says what happened in a line and in a text", async (t) => {
  const { threshold: _, ...other } = alert;
  const table: readonly (readonly [Parameters<typeof emailOf>[0], string, string])[] = [
    [
      { ...alert, subject: "/team", threshold: 1, spent: 12, usage_ratio: 1.2 },
      "Sluice: /team has spent 100% of its monthly budget",
      "/team has spent $12.00 of $10.00. The monthly period ends at 2026-12-01T00:00:00Z. Sluice refuses its requests until something is left again.",
    ],
    [
      {
        ...other,
        type: "budget.forecast",
        scope: "label",
        subject: "research",
        models: ["openai/*"],
        forecast: {
          rate_usd_per_hour: 2,
          exhausts_at: "2026-11-29T13:00:00Z",
          projected_usd: 90,
          basis: "recent",
          basis_seconds: 7200,
        },
      },
      "Sluice: the monthly budget of label research (openai/*) runs out at 2026-11-29T13:00:00Z",
      "label research (openai/*) has spent $8.10 of $10.00. The monthly period ends at 2026-12-01T00:00:00Z. At the present pace of $2.00 an hour it runs out at 2026-11-29T13:00:00Z.",
    ],
    [
      {
        ...alert,
        type: "rate_limit.threshold",
        subject: "/team",
        period_label: "day",
        dimension: "tokens",
        limit: 1000,
        used: 810,
      },
      "Sluice: /team has used 80% of its tokens limit (day)",
      "/team has used 810 of 1000 tokens of its limit (day).",
    ],
    [
      { id: "alert_test_1", type: "test", created_at: alert.created_at },
      "Sluice: a test",
      "This is a test of the alerts of Sluice. If you read it, they arrive.",
    ],
  ];
  for (const [sent, subject, text] of table) t.same(emailOf(sent), { subject, text });
});
