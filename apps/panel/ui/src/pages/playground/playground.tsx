import { useState, useSyncExternalStore } from 'react';
import type { BilledRequest } from '../../../../src/shapes/billing.js';
import type { ModelListReply } from '../../../../src/shapes/catalog.js';
import { callApi, openEvents, useApi } from '../../data/api.js';
import type { Call } from '../../data/calls.js';
import { useFilters } from '../../data/filters.js';
import { useNames, useSession } from '../../data/session.js';
import { Button, ButtonLink } from '../../parts/button.js';
import { CallLines } from '../../parts/copy-line.js';
import { Dialog } from '../../parts/dialog.js';
import { Money } from '../../parts/money.js';
import { Card, Empty, Page } from '../../parts/page.js';
import { Conversation, composeMessages } from './conversation.js';
import { type Options, readOptions, startOptions } from './options.js';
import { OptionsCard } from './options-card.js';
import styles from './playground.module.css';
import { mostItCosts } from './turn.js';
import { TurnList } from './turn-list.js';

/** Conversations by account, until the page is loaded anew. */
const conversations = new Map<string, { conversation: Conversation; options: Options }>();

function findConversation(account: string) {
  const known = conversations.get(account);
  if (known) return known;
  const conversation = new Conversation({
    open: (projectId, request, signal) => openEvents('/playground', { projectId, request }, signal),
    bill: (requestId) => callApi<BilledRequest>('GET', `/requests/${requestId}`),
  });
  const made = { conversation, options: startOptions() };
  conversations.set(account, made);
  return made;
}

/** Requests to models by hand, with their hold and cost. */
export function Playground() {
  const { may, account, linkTo } = useSession();
  const { projects } = useNames();
  const { data } = useApi<ModelListReply>('/models');
  const enabled = projects?.filter((project) => project.enabled);
  const models = data?.models.filter(({ embeddingDimensions }) => embeddingDimensions == null);
  const missing = !may('playground') ? (
    <Empty
      icon="playground"
      title="Your role does not include the playground"
      text="Owners and developers have it, and members of a project."
    />
  ) : enabled?.length === 0 ? (
    <Empty icon="projects" title="A request belongs to a project" text="Create a project first: its limits apply, and its account pays.">
      <ButtonLink to={linkTo('projects')} look="primary">
        Projects
      </ButtonLink>
    </Empty>
  ) : (
    models?.length === 0 && (
      <Empty
        icon="models"
        title="The catalog has no enabled model that writes replies"
        text="An operator adds one on the page Models, or with the command line."
      />
    )
  );
  if (missing || !enabled || !models) {
    return (
      <Page title="Playground" about={ABOUT} busy={!missing}>
        {missing && <Card>{missing}</Card>}
      </Page>
    );
  }
  return <OpenPlayground key={account} projects={enabled} models={models} />;
}

const ABOUT = 'Try a model. Prompts and replies stay in this tab and are stored nowhere; requests are billed to the project.';

type Choices = Pick<Parameters<typeof OptionsCard>[0], 'projects' | 'models'>;

function OpenPlayground({ projects, models }: Choices) {
  const { account, me } = useSession();
  const { filters, change } = useFilters();
  const kept = findConversation(account);
  const { conversation } = kept;
  const turns = useSyncExternalStore(conversation.subscribe, () => conversation.turns);
  const [options, setOptions] = useState(kept.options);
  const [draft, setDraft] = useState('');
  const [isCodeShown, setCodeShown] = useState(false);
  const project = projects.find(({ projectId }) => projectId === filters.project) ?? projects[0];
  const model = models.find(({ id }) => id === filters.model) ?? models[0];
  if (!project || !model) return null;
  const { system } = options;
  const { faults, maxTokens = 0, temperature } = readOptions(options, model);
  const isRunning = turns.some(({ state }) => state === 'running');
  const messages = composeMessages(system, turns, draft);
  const ask = (text: string) =>
    void conversation.send({ text, projectId: project.projectId, model: model.id, system, maxTokens, temperature });
  return (
    <Page
      title="Playground"
      about={ABOUT}
      actions={
        <>
          <Button onClick={() => setCodeShown(true)}>Code</Button>
          <Button icon="plus" onClick={() => conversation.clear()} disabled={turns.length === 0}>
            New conversation
          </Button>
        </>
      }
    >
      <div className={styles.layout}>
        <section className={styles.conversation} aria-label="Conversation">
          <TurnList
            turns={turns}
            onRetry={(question) => {
              conversation.takeBack();
              ask(question);
            }}
          />
          <Composer
            value={draft}
            onChange={setDraft}
            heldAtMost={mostItCosts(model, messages, maxTokens)}
            isRunning={isRunning}
            isReady={!faults.maxTokens && !faults.temperature}
            onSend={() => {
              ask(draft);
              setDraft('');
            }}
            onStop={() => conversation.stop()}
          />
        </section>
        <OptionsCard
          projects={projects}
          models={models}
          project={project.projectId}
          model={model}
          onChoose={change}
          options={options}
          faults={faults}
          onChange={(changed) => {
            kept.options = changed;
            setOptions(changed);
          }}
        />
      </div>
      {isCodeShown && (
        <CodeDialog
          call={{ url: me.gatewayUrl, model: model.id, messages, maxTokens: maxTokens || undefined, temperature }}
          onClose={() => setCodeShown(false)}
        />
      )}
    </Page>
  );
}

function CodeDialog({ call, onClose }: { call: Call; onClose: () => void }) {
  return (
    <Dialog title="The same request in code" onClose={onClose}>
      <p>With a key of the project in the variable TOLLGATE_KEY.</p>
      <CallLines call={{ ...call, ...(call.messages?.length === 0 && { messages: undefined }) }} />
    </Dialog>
  );
}

interface ComposerProps {
  value: string;
  onChange: (value: string) => void;
  /** Pico-USD that the request holds before it starts. */
  heldAtMost: bigint;
  isRunning: boolean;
  /** False while an option has a fault. */
  isReady: boolean;
  onSend: () => void;
  onStop: () => void;
}

/** The next message, and what it costs at most. */
export function Composer({ value, onChange, heldAtMost, isRunning, isReady, onSend, onStop }: ComposerProps) {
  const maySend = isReady && !isRunning && value.trim() !== '';
  return (
    <form
      className={styles.composer}
      onSubmit={(event) => {
        event.preventDefault();
        if (maySend) onSend();
      }}
    >
      <textarea
        className={styles.message}
        aria-label="Message"
        placeholder="Write a message. Enter sends it, Shift and Enter begin a line."
        rows={2}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          event.currentTarget.form?.requestSubmit();
        }}
      />
      <div className={styles.send}>
        <p className={styles.faint}>
          {isReady && (
            <>
              Holds at most <Money pico={heldAtMost} exact />
            </>
          )}
        </p>
        {isRunning ? (
          <Button onClick={onStop}>Stop</Button>
        ) : (
          <Button type="submit" look="primary" disabled={!maySend}>
            Send
          </Button>
        )}
      </div>
    </form>
  );
}
