import type { FinishReason } from '#inference/stream-event.js';

export interface ResponseEnd {
  /** Status of the Response and of its last item, which is the one that was cut off. */
  status: 'completed' | 'incomplete';
  incompleteReason?: 'max_output_tokens' | 'content_filter';
}

/** Maps a finish reason. Tool calls need no reason of their own: clients find them in `output`. */
export function renderFinishReason(reason: FinishReason): ResponseEnd {
  switch (reason) {
    case 'stop':
    case 'stop-sequence':
    case 'tool-calls':
      return { status: 'completed' };
    case 'length':
      return { status: 'incomplete', incompleteReason: 'max_output_tokens' };
    case 'content-filter':
      return { status: 'incomplete', incompleteReason: 'content_filter' };
  }
}
