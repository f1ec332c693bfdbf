import type { StreamEvent } from '#inference/stream-event.js';

/**
 * Returns the first fault of a sequence of events by the grammar of `stream-event.ts`; undefined when there is none. `ending`:
 * `terminal` requires a terminal event; `open` is a stream that was cancelled or still runs.
 */
export function grammarFault(events: readonly StreamEvent[], ending: 'terminal' | 'open' = 'terminal'): string | undefined {
  const calls: { kind: 'function' | 'custom'; text: string; ended: boolean }[] = [];
  const ids = new Set<string>();
  let terminal: StreamEvent | undefined;
  let reported = false;
  let content = false;
  for (const [at, event] of events.entries()) {
    const where = `event ${at} (${event.type})`;
    if (terminal !== undefined) return `${where} comes after the terminal event`;
    switch (event.type) {
      case 'upstream-start':
        if (at > 0) return `${where} is not the first`;
        break;
      case 'text-delta':
      case 'reasoning-delta':
      case 'refusal-delta':
        if (event.text === '') return `${where} is empty`;
        content = true;
        break;
      case 'embedding-delta':
        if (event.vectors.length === 0) return `${where} is empty`;
        content = true;
        break;
      case 'tool-call-start':
        if (event.index !== calls.length) return `${where} has index ${event.index}, expected ${calls.length}`;
        if (event.callId === '' || ids.has(event.callId)) return `${where} has an empty or repeated id`;
        if (event.tool.name === '') return `${where} has no name`;
        ids.add(event.callId);
        calls.push({ kind: event.kind, text: '', ended: false });
        content = true;
        break;
      case 'tool-call-delta':
      case 'tool-call-end': {
        const call = calls[event.index];
        if (call === undefined || call.ended) return `${where} belongs to no open call`;
        if (event.type === 'tool-call-end') call.ended = true;
        else if (event.text === '') return `${where} is empty`;
        else call.text += event.text;
        if (call.ended && call.kind === 'function' && call.text === '') return `${where} ends a call without arguments`;
        break;
      }
      case 'usage-report':
        reported = true;
        break;
      case 'settlement-deferred':
        if (ending === 'terminal' || at < events.length - 1) return `${where} is not the end of a stream that was left`;
        break;
      case 'attempts-report':
        if (at !== events.length - 2) return `${where} is not right before the last event`;
        break;
      case 'completion-finish':
        if (calls.some((call) => !call.ended)) return `${where} leaves a call open`;
        terminal = event;
        break;
      case 'completion-failure':
        if (content && !reported) return `${where} comes after content, without a usage-report`;
        terminal = event;
        break;
    }
  }
  return ending === 'terminal' && terminal === undefined ? 'no terminal event' : undefined;
}
