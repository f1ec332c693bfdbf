import { chat } from './chat.ts';
import type { Format, FormatName } from './format.ts';
import { messages } from './messages.ts';
import { responses } from './responses.ts';

export const FORMATS: Record<FormatName, Format> = { chat, responses, messages };
