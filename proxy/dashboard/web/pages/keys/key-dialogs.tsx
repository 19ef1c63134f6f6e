/** The dialogs that issue, rotate and end a key. */
import { useState } from "preact/hooks";
import type { IssuedKey, KeyItem } from "../../../../../shared/api/key-item.js";
import { useApp } from "../../parts/app.js";
import { Confirm, Failed } from "../../parts/confirm.js";
import { Dialog, DialogFoot } from "../../parts/dialog.js";
import { SelectField, TextField } from "../../parts/field.js";
import { keysTexts as texts } from "../../texts/keys-texts.js";
import { useSubmit } from "./use-submit.js";

const address = "/admin/auth-keys";
const dayMs = 86_400_000;
/** Those that show their own problems. */
const shownFields = ["name", "user_path", "labels", "expires_at"];

type OnSecret = (value: string, notice: string | null) => void;

interface IssueProps {
  /** By the daemon's clock; null until it is known. */
  readonly serverTime: string | null;
  readonly onIssued: OnSecret;
  readonly onClose: () => void;
}

export function IssueDialog({ serverTime, onIssued, onClose }: IssueProps) {
  const { client } = useApp();
  const [name, setName] = useState("");
  const [path, setPath] = useState("");
  const [labels, setLabels] = useState("");
  const [days, setDays] = useState("");
  const { isBusy, problem, errorOf, submit } = useSubmit(
    () =>
      client.send<IssuedKey>("POST", address, {
        ...optional("name", name.trim()),
        ...optional("user_path", path.trim()),
        ...(labels.trim() === "" ? {} : { labels: listed(labels) }),
        ...optional("expires_at", momentAfter(serverTime, Number(days))),
      }),
    ({ value, notice }) => onIssued(value, notice ?? null),
  );
  const form = texts.form;
  return (
    <Dialog title={form.title} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <TextField
          label={form.name}
          hint={form.nameHint}
          value={name}
          onInput={setName}
          error={errorOf("name")}
          autoFocus
        />
        <TextField
          label={form.path}
          hint={form.pathHint}
          value={path}
          onInput={setPath}
          error={errorOf("user_path")}
          placeholder="/team/app"
          mono
        />
        <div class="form-row">
          <TextField
            label={form.labels}
            hint={form.labelsHint}
            value={labels}
            onInput={setLabels}
            error={errorOf("labels")}
          />
          <SelectField
            label={form.expires}
            value={days}
            // Numbers as names would come first.
            options={["", "30", "90", "365"].map((each) => [each, form.expiry[each as "30"]])}
            onChoose={setDays}
            error={errorOf("expires_at")}
          />
        </div>
        {problem !== null && !shownFields.includes(problem.field ?? "") && (
          <Failed>{problem.message}</Failed>
        )}
        <DialogFoot onCancel={onClose} submit={form.submit} busy={isBusy} />
      </form>
    </Dialog>
  );
}

interface RotateProps {
  readonly of: KeyItem;
  readonly onRotated: OnSecret;
  readonly onClose: () => void;
}

export function RotateDialog({ of: key, onRotated, onClose }: RotateProps) {
  const { client } = useApp();
  const words = texts.rotating;
  const [overlap, setOverlap] = useState("86400");
  const { isBusy, problem, submit } = useSubmit(
    () =>
      client.send<IssuedKey>("POST", `${address}/${encodeURIComponent(key.id)}/rotate`, {
        overlap_seconds: Number(overlap),
      }),
    ({ value, notice }) => onRotated(value, notice ?? null),
  );
  return (
    <Dialog title={words.title(key.name ?? key.id)} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <p class="soft">{words.text}</p>
        <SelectField
          label={words.overlap}
          value={overlap}
          options={Object.entries(words.overlaps)}
          onChoose={setOverlap}
        />
        {problem !== null && <Failed>{problem.message}</Failed>}
        <DialogFoot onCancel={onClose} submit={words.submit} busy={isBusy} />
      </form>
    </Dialog>
  );
}

interface EndProps {
  readonly of: KeyItem;
  readonly how: "deactivate" | "delete";
  readonly onEnded: () => void;
  readonly onClose: () => void;
}

export function EndKeyDialog({ of: key, how, onEnded, onClose }: EndProps) {
  const words = how === "delete" ? texts.deleting : texts.deactivating;
  const name = key.name ?? key.id;
  const place = `${address}/${encodeURIComponent(key.id)}`;
  return (
    <Confirm
      title={words.title(name)}
      submit={words.submit}
      change={{
        method: how === "delete" ? "DELETE" : "POST",
        path: how === "delete" ? place : `${place}/deactivate`,
        body: undefined,
        done: words.done(name),
      }}
      onDone={onEnded}
      onClose={onClose}
    >
      {words.text}
    </Confirm>
  );
}

function listed(text: string): readonly string[] {
  return text
    .split(",")
    .map((label) => label.trim())
    .filter((label) => label !== "");
}

function optional(field: string, value: string): Readonly<Record<string, string>> {
  return value === "" ? {} : { [field]: value };
}

/** Empty: never. */
function momentAfter(serverTime: string | null, days: number): string {
  if (days === 0 || serverTime === null) return "";
  return new Date(Date.parse(serverTime) + days * dayMs).toISOString();
}
