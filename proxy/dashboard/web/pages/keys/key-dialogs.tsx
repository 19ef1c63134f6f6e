/** The dialogs that issue, rotate and end a key. */
import { useState } from "preact/hooks";
import type { IssuedKey, KeyItem } from "../../../../../shared/api/key-item.js";
import type { Answer, Problem } from "../../data/gateway-client.js";
import { useApp } from "../../parts/app.js";
import { Confirm, Failed } from "../../parts/confirm.js";
import { Dialog, DialogFoot } from "../../parts/dialog.js";
import { SelectField, TextField } from "../../parts/field.js";
import { Icon } from "../../parts/icon.js";
import { useAsking } from "../../parts/use-change.js";
import { keysTexts, keysTexts as texts } from "../../texts/keys-texts.js";

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

interface Submit {
  readonly isBusy: boolean;
  readonly problem: Problem | null;
  /** What is wrong with a field, as the gateway says it. */
  errorOf(field: string): string | null;
  readonly submit: (event: Event) => void;
}

function useSubmit<T>(question: () => Promise<Answer<T>>, onDone: (body: T) => void): Submit {
  const { isBusy, problem, ask } = useAsking();
  const run = async (): Promise<void> => {
    const answer = await ask(question);
    if (answer.ok) onDone(answer.body);
  };
  return {
    isBusy,
    problem,
    errorOf: (field) => (problem?.field === field ? problem.message : null),
    submit(event) {
      event.preventDefault();
      if (!isBusy) void run();
    },
  };
}

const secretTexts = keysTexts.secret;

interface SecretDialogProps {
  readonly value: string;
  /** What the gateway says beside it. */
  readonly notice: string | null;
  readonly onClose: () => void;
}

export function SecretDialog({ value, notice, onClose }: SecretDialogProps) {
  const [state, setState] = useState<"new" | "copied" | "failed">("new");
  const copy = (): void => {
    // Absent where the page came over plain HTTP from another host.
    const copying = navigator.clipboard?.writeText(value) ?? Promise.reject(new Error());
    copying.then(
      () => setState("copied"),
      () => setState("failed"),
    );
  };
  return (
    <Dialog title={secretTexts.title} onClose={onClose}>
      <div class="form">
        <p>{secretTexts.text}</p>
        <code class="secret">{value}</code>
        {notice !== null && (
          <p class="notice warn">
            <Icon name="alert" />
            {notice}
          </p>
        )}
        <p class="soft small" role="status">
          {state === "failed" ? secretTexts.copyFailed : ""}
        </p>
        <div class="dialog-foot">
          <button type="button" class="button" onClick={onClose}>
            {secretTexts.done}
          </button>
          <button type="button" class="button primary" onClick={copy}>
            <Icon name={state === "copied" ? "check" : "copy"} />
            {state === "copied" ? secretTexts.copied : secretTexts.copy}
          </button>
        </div>
      </div>
    </Dialog>
  );
}
