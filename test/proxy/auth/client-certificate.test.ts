import t from "tap";
import { certificatePaths } from "../../../proxy/auth/client-certificate.js";

t.test("the first name of a certificate that matches gives the path", async (t) => {
  const spiffe = { id: "spiffe://a.example/ns/{ns}/sa/{sa}", userPath: "/k8s/{ns}/{sa}" };
  const dns = { id: "{app}.apps.example", userPath: "/apps/{app}" };
  const fixed = { id: "spiffe://a.example/gateway", userPath: "/gateway" };
  const table = [
    [spiffe, "URI:spiffe://a.example/ns/x/sa/y", "/k8s/x/y"],
    [spiffe, "DNS:other, URI:spiffe://a.example/ns/x/sa/y", "/k8s/x/y"],
    [spiffe, "URI:spiffe://b.example/ns/x/sa/y", null],
    [spiffe, "URI:spiffe://aXexample/ns/x/sa/y", null],
    [spiffe, "URI:spiffe://a.example/ns/x/sa/y/z", null],
    [spiffe, "URI:spiffe://a.example/ns//sa/y", null],
    [spiffe, "URI:spiffe://a.example/ns/../sa/y", null],
    [spiffe, "DNS:spiffe://a.example/ns/x/sa/y", null],
    // Node quotes what could be mistaken for the next name.
    [spiffe, 'DNS:"a, URI:spiffe://a.example/ns/root/sa/y"', null],
    [spiffe, 'URI:"spiffe://a.example/ns/x, y/sa/z"', "/k8s/x, y/z"],
    [spiffe, "", null],
    [spiffe, undefined, null],
    [dns, "DNS:billing.apps.example", "/apps/billing"],
    [dns, "DNS:Billing.Apps.Example", "/apps/Billing"],
    [dns, "DNS:a.b.apps.example", null],
    [dns, "IP Address:127.0.0.1, DNS:billing.apps.example", "/apps/billing"],
    [fixed, "URI:spiffe://a.example/gateway", "/gateway"],
    [fixed, "URI:spiffe://a.example/gateway2", null],
  ] as const;
  for (const [clients, subjectaltname, path] of table)
    t.equal(certificatePaths(clients)({ subjectaltname }), path, String(subjectaltname));
});
