/**
 * Why a request would pass or be refused, and when it would pass. The address contains the
 * question.
 */
import { useEffect, useState } from "preact/hooks";
import type { Explanation } from "../../../../../shared/api/explanation.js";
import type { Problem } from "../../data/gateway-client.js";
import { type Question, questionBody, questionOf, questionQuery } from "../../logic/question.js";
import { Age } from "../../parts/age.js";
import { useApp } from "../../parts/app.js";
import { offWhile } from "../../parts/change-button.js";
import { FailureText } from "../../parts/confirm.js";
import { Choices, TextField } from "../../parts/field.js";
import { Card, Empty, PageHead } from "../../parts/page.js";
import { explainTexts as texts } from "../../texts/explain-texts.js";
import { ExplanationView } from "./explanation-view.js";

interface Result {
  readonly body: Explanation | null;
  readonly problem: Problem | null;
  readonly heardMs: number;
}

const nothing: Result = { body: null, problem: null, heardMs: 0 };

export function ExplainPage() {
  const { client, router } = useApp();
  const inAddress = questionOf(router.place.value.query);
  const [question, setQuestion] = useState<Question>(inAddress);
  const [asked, setAsked] = useState<Result>(nothing);
  const [isBusy, setBusy] = useState(false);
  const ask = async (newQuestion: Question): Promise<void> => {
    const body = questionBody(newQuestion);
    if (body === null) return setAsked(nothing);
    setBusy(true);
    const answer = await client.send<Explanation>("POST", "/admin/explain", body);
    setBusy(false);
    setAsked(
      answer.ok
        ? { body: answer.body, problem: null, heardMs: performance.now() }
        : { ...nothing, problem: answer.problem },
    );
  };
  // The address changes by a link to a question, or by the browser's own buttons.
  const address = JSON.stringify(inAddress);
  useEffect(() => {
    const parsed = JSON.parse(address) as Question;
    setQuestion((now) => ({ ...parsed, key: parsed.key === "" ? now.key : parsed.key }));
    void ask(parsed);
  }, [address]);
  return (
    <>
      <PageHead title={texts.title}>{texts.about}</PageHead>
      <div class="stack">
        <Card>
          <QuestionForm
            question={question}
            isBusy={isBusy}
            onChange={setQuestion}
            onAsk={() => {
              router.setQuery(questionQuery(question));
              void ask(question);
            }}
          />
        </Card>
        {asked.problem !== null && <FailureText>{asked.problem.message}</FailureText>}
        {asked.body !== null && (
          <ExplanationView explanation={asked.body} age={<Age heardMs={asked.heardMs} />} />
        )}
        {asked.body === null && asked.problem === null && !isBusy && (
          <Empty icon="explain" title={texts.start.title}>
            {texts.start.text}
          </Empty>
        )}
      </div>
    </>
  );
}

interface QuestionFormProps {
  readonly question: Question;
  readonly isBusy: boolean;
  readonly onChange: (question: Question) => void;
  readonly onAsk: () => void;
}

function QuestionForm({ question, isBusy, onChange, onAsk }: QuestionFormProps) {
  const set = (part: Partial<Question>): void => onChange({ ...question, ...part });
  return (
    <form
      class="form question"
      onSubmit={(event) => {
        event.preventDefault();
        onAsk();
      }}
    >
      <Choices
        label={texts.byLabel}
        value={question.by}
        options={Object.entries(texts.by)}
        onChoose={(by) => set({ by: by === "request" ? "request" : "path" })}
      />
      {question.by === "path" ? (
        <div class="form-row">
          <TextField
            label={texts.path}
            hint={texts.pathHint}
            placeholder="/team/app"
            isMono
            value={question.path}
            onInput={(path) => set({ path })}
          />
          <TextField
            label={texts.model}
            hint={texts.modelHint}
            isMono
            value={question.model}
            onInput={(model) => set({ model })}
          />
          <TextField
            label={texts.key}
            hint={texts.keyHint}
            isMono
            value={question.key}
            onInput={(key) => set({ key })}
          />
          <TextField
            label={texts.session}
            hint={texts.sessionHint}
            isMono
            value={question.session}
            onInput={(session) => set({ session })}
          />
        </div>
      ) : (
        <TextField
          label={texts.requestId}
          hint={texts.requestIdHint}
          isMono
          value={question.requestId}
          onInput={(requestId) => set({ requestId })}
        />
      )}
      <div>
        <button type="submit" class="button primary" {...offWhile(isBusy)}>
          {texts.submit}
        </button>
      </div>
    </form>
  );
}
