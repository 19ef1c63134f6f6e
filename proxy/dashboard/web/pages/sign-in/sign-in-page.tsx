/** Asks for a key, sends it to the gateway, and doesn't store it. */
import { useState } from "preact/hooks";
import type { Problem } from "../../data/gateway-client.js";
import { useApp } from "../../parts/app.js";
import { offWhile } from "../../parts/change-button.js";
import { TextField } from "../../parts/field.js";
import { Icon } from "../../parts/icon.js";
import { shellTexts, signInTexts as texts } from "../../texts/shell-texts.js";

export function SignInPage() {
  const { session } = useApp();
  const [key, setKey] = useState("");
  const [error, setError] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const refused = refusalOf(new URLSearchParams(location.search).get("sign-in"));
  const submit = async (): Promise<void> => {
    if (key.trim() === "") return setError(texts.missing);
    setBusy(true);
    const answer = await session.signIn(key.trim());
    setBusy(false);
    if (answer.ok) return;
    setKey("");
    setError(wordsFor(answer.problem));
  };
  return (
    <main class="sign-in">
      <div class="card sign-in-box">
        <div class="brand">
          <Icon name="gate" />
          {shellTexts.product}
        </div>
        <h1>{texts.title}</h1>
        <p class="soft">{session.hasEnded.value ? texts.ended : texts.about}</p>
        {session.hasProvider.value && (
          <a class="button primary" href="/dashboard/sign-in">
            {texts.withProvider}
          </a>
        )}
        {refused !== undefined && (
          <p class="soft" role="alert">
            {refused}
          </p>
        )}
        <form
          class="form"
          onSubmit={(event) => {
            event.preventDefault();
            void submit();
          }}
        >
          {/* For password managers, which want a name beside a password. */}
          <input type="text" autocomplete="username" value={shellTexts.product} readOnly hidden />
          <TextField
            label={texts.key}
            kind="password"
            isMono
            autoFocus
            autoComplete="current-password"
            value={key}
            onInput={setKey}
            error={error}
            hint={texts.hint}
          />
          <button type="submit" class="button primary" {...offWhile(isBusy)}>
            {texts.submit}
          </button>
        </form>
      </div>
    </main>
  );
}

/** Why the gateway sent the browser back without a session. */
function refusalOf(outcome: string | null): string | undefined {
  if (outcome === null) return undefined;
  return texts.refused[outcome as keyof typeof texts.refused] ?? texts.refused.failed;
}

function wordsFor({ kind, status, message }: Problem): string {
  if (kind === "signed-out") return texts.wrong;
  return status === 429 ? texts.tooMany : message;
}
