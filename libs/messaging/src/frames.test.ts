import { DETACH, type Frame, parseControl, parseFrame, renderCredit, renderFrames, renderResume, STOP } from './frames.js';

const readable = (frame: Frame | undefined) => frame && { ...frame, body: Buffer.from(frame.body).toString() };

describe('renderFrames', () => {
  test('renders one frame for a small body', () => {
    expect(renderFrames('last', 7, '[1,2]', 100)).toEqual(['L7\n[1,2]']);
  });

  test('cuts a large body into parts that join to the whole', () => {
    const body = JSON.stringify(['äöü€😀'.repeat(40)]);
    const frames = renderFrames('events', 98, body, 60).map((frame) => parseFrame(Buffer.from(frame)));
    expect(frames.length).toBeGreaterThan(10);
    expect(frames.map((frame) => frame?.sequence)).toEqual(frames.map((_, index) => 98 + index));
    expect(frames.map((frame) => frame?.kind)).toEqual([...Array.from({ length: frames.length - 1 }, () => 'part'), 'events']);
    expect(Buffer.concat(frames.map((frame) => frame?.body ?? Buffer.alloc(0))).toString()).toBe(body);
    expect(renderFrames('events', 98, body, 60).every((frame) => frame.length <= 60)).toBe(true);
  });
});

test.each([
  ['E12\n[1]', { kind: 'events', sequence: 12, body: '[1]' }],
  ['H0\n', { kind: 'heartbeat', sequence: 0, body: '' }],
  ['X3\n{}', { kind: 'failure', sequence: 3, body: '{}' }],
  ['E\n[1]', undefined],
  ['E1x\n[1]', undefined],
  ['E-1\n[1]', undefined],
  ['Z1\n[1]', undefined],
  ['E1', undefined],
  ['', undefined],
])('parseFrame %j', (text, frame) => {
  expect(readable(parseFrame(Buffer.from(text)))).toEqual(frame);
});

test.each([
  [renderCredit(120), { kind: 'credit', sequence: 120 }],
  [renderResume(0), { kind: 'resume', sequence: 0 }],
  [STOP, { kind: 'stop' }],
  [DETACH, { kind: 'detach' }],
  [Buffer.from('C'), undefined],
  [Buffer.from('C1.5'), undefined],
  [Buffer.from('?'), undefined],
  [Buffer.alloc(0), undefined],
])('parseControl %s', (data, control) => {
  expect(parseControl(data)).toEqual(control);
});
