import type { BilledRequest } from '../../../../src/shapes/billing.js';
import { ApiError, type EventReply } from '../../data/api.js';
import { type ChatMessage, chatRequest } from '../../data/calls.js';
import { addEvent, newTurn, type Turn } from './turn.js';

/** Milliseconds between two looks at the bill of a request, which a stopped one gets a moment after its end. */
const BILL_MS = 1_000;
const BILL_ATTEMPTS_MAX = 30;

/** The calls that a conversation makes. */
export interface ConversationCalls {
  open: (projectId: string, request: object, signal: AbortSignal) => Promise<EventReply>;
  bill: (requestId: string) => Promise<BilledRequest>;
}

export interface Question {
  text: string;
  projectId: string;
  model: string;
  system: string;
  maxTokens: number;
  temperature: number | undefined;
}

/** Questions and replies, in the memory of this tab alone. A reply goes on while another page is shown. */
export class Conversation {
  turns: readonly Turn[] = [];
  private running: AbortController | undefined;
  private readonly listeners = new Set<() => void>();

  constructor(private readonly calls: ConversationCalls) {}

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Asks a question after those before, and resolves when its bill is there. */
  async send({ text, projectId, system, ...call }: Question): Promise<void> {
    const request = chatRequest({ ...call, messages: composeMessages(system, this.turns, text) });
    const turn = newTurn(text, call.model);
    const abort = new AbortController();
    this.running = abort;
    this.set([...this.turns, turn]);
    const startedAt = performance.now();
    const change = (changed: (now: Turn) => Partial<Turn>) => this.change(turn.id, changed);
    try {
      const { gatewayRequestId: requestId, events } = await this.calls.open(projectId, request, abort.signal);
      change(() => ({ requestId }));
      for await (const { data } of events) change((now) => addEvent(now, data, performance.now() - startedAt));
      change(({ state }) => (state === 'running' ? { state: 'failed', failure: new ApiError('The reply broke off.', 'unavailable') } : {}));
    } catch (error) {
      change(() => (abort.signal.aborted ? { state: 'stopped' } : failed(error)));
    }
    change(() => ({ tookMs: performance.now() - startedAt }));
    if (this.running === abort) this.running = undefined;
    await this.readBill(turn.id);
  }

  stop(): void {
    this.running?.abort();
  }

  /** Takes back the last question. */
  takeBack(): void {
    this.set(this.turns.slice(0, -1));
  }

  clear(): void {
    this.stop();
    this.set([]);
  }

  private async readBill(id: number): Promise<void> {
    for (let attempt = 0; attempt < BILL_ATTEMPTS_MAX; attempt += 1) {
      const requestId = this.turns.find((turn) => turn.id === id)?.requestId;
      if (!requestId) return;
      try {
        const bill = await this.calls.bill(requestId);
        if (bill.settlement) return this.change(id, () => ({ bill }));
      } catch (error) {
        // The gateway refused it: nothing was held.
        if (error instanceof ApiError && error.code === 'not_found') return;
      }
      await new Promise((resolve) => setTimeout(resolve, BILL_MS));
    }
  }

  private change(id: number, changed: (now: Turn) => Partial<Turn>): void {
    this.set(this.turns.map((turn) => (turn.id === id ? { ...turn, ...changed(turn) } : turn)));
  }

  private set(turns: readonly Turn[]): void {
    this.turns = turns;
    for (const listener of this.listeners) listener();
  }
}

/** The whole conversation as the model gets it. Replies without text are left out. */
export function composeMessages(system: string, turns: readonly Turn[], text: string): ChatMessage[] {
  return [
    { role: 'system' as const, content: system },
    ...turns.flatMap(({ question, text: reply }) => [
      { role: 'user' as const, content: question },
      { role: 'assistant' as const, content: reply },
    ]),
    { role: 'user' as const, content: text },
  ].filter(({ content }) => content.trim() !== '');
}

function failed(error: unknown): Partial<Turn> {
  const answered = error instanceof ApiError && error.code !== 'unreachable' ? error : undefined;
  const failure = answered ?? new ApiError('The connection to the panel broke.', 'unavailable');
  return { state: 'failed', failure, ...(failure.isFromGateway && { requestId: failure.requestId }) };
}
