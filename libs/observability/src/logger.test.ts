import { jest } from '@jest/globals';
import { isoTime } from './logger.js';

afterEach(() => jest.restoreAllMocks());

test('the time of a line is that of its moment, also in the next second and after the clock was set back', () => {
  const now = jest.spyOn(Date, 'now');
  const times = [1_795_435_200_007, 1_795_435_200_999, 1_795_435_201_000, 1_795_435_199_500];
  const timeAt = (at: number): string => {
    now.mockReturnValue(at);
    return isoTime();
  };
  expect(times.map(timeAt)).toEqual(times.map((at) => `,"time":"${new Date(at).toISOString()}"`));
});
