import { encodeEvent } from '#network/event-stream-frame.js';

export const FRAMES = { 'content-type': 'application/vnd.amazon.eventstream' };

/** Returns server-sent events with one field each as frames of AWS, whose types are these fields. Frames have no end marker. */
export function toFrames(events: string): Buffer[] {
  const lines = events.split('\n').filter((line) => line.startsWith('data: ') && line !== 'data: [DONE]');
  return lines.map((line) => toFrame(line.slice('data: '.length)));
}

function toFrame(payload: string): Buffer {
  const [[type, fields] = ['', {}]] = Object.entries(JSON.parse(payload) as Record<string, unknown>);
  return encodeEvent(type === 'error' ? 'internalServerException' : type, JSON.stringify(fields));
}
