import { jest } from '@jest/globals';
import { LineBuffer } from './logger.js';

class Recorder {
  readonly calls: string[] = [];

  write(lines: string): void {
    this.calls.push(lines);
  }

  flushSync(): void {
    this.calls.push('flushSync');
  }
}

describe('LineBuffer', () => {
  let destination: Recorder;
  let buffer: LineBuffer;

  beforeEach(() => {
    jest.useFakeTimers();
    destination = new Recorder();
    buffer = new LineBuffer(destination);
  });

  afterEach(() => jest.useRealTimers());

  it('writes the lines of 250 ms in one string', () => {
    buffer.write('a\n');
    jest.advanceTimersByTime(200);
    buffer.write('b\n');
    jest.advanceTimersByTime(49);
    expect(destination.calls).toEqual([]);
    jest.advanceTimersByTime(1);
    expect(destination.calls).toEqual(['a\nb\n']);
  });

  it('writes at once when it holds 32,768 characters, and waits again after it', () => {
    const line = `${'x'.repeat(16_383)}\n`;
    buffer.write(line);
    buffer.write(line);
    buffer.write('next\n');
    expect(destination.calls).toEqual([line + line]);
    jest.advanceTimersByTime(250);
    expect(destination.calls).toEqual([line + line, 'next\n']);
  });

  it('writes everything now on flushSync', () => {
    buffer.write('a\n');
    buffer.flushSync();
    jest.advanceTimersByTime(1_000);
    expect(destination.calls).toEqual(['a\n', 'flushSync']);
  });
});
