/** The form of a question: a caller and a model, or a refused request. */
import type { Question } from "../../logic/question.js";
import { Choices, TextField } from "../../parts/field.js";
import { explainTexts as texts } from "../../texts/explain-texts.js";

interface QuestionFormProps {
  readonly question: Question;
  readonly isBusy: boolean;
  readonly onChange: (question: Question) => void;
  readonly onAsk: () => void;
}

export function QuestionForm({ question, isBusy, onChange, onAsk }: QuestionFormProps) {
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
            mono
            value={question.path}
            onInput={(path) => set({ path })}
          />
          <TextField
            label={texts.model}
            hint={texts.modelHint}
            mono
            value={question.model}
            onInput={(model) => set({ model })}
          />
          <TextField
            label={texts.key}
            hint={texts.keyHint}
            mono
            value={question.key}
            onInput={(key) => set({ key })}
          />
        </div>
      ) : (
        <TextField
          label={texts.requestId}
          hint={texts.requestIdHint}
          mono
          value={question.requestId}
          onInput={(requestId) => set({ requestId })}
        />
      )}
      <div>
        <button type="submit" class="button primary" disabled={isBusy}>
          {texts.submit}
        </button>
      </div>
    </form>
  );
}
