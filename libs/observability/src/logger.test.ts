import { jest } from '@jest/globals';
import { isoTime } from './logger.js';

afterEach(() => jest.restoreAllMocks());

test('the time of a line is that of its moment, also in the next second and after the clock was set back', () => {
  const now = jest.spyOn(Date, 'now');
  const times = [1_795_435_200_007, 1_795_435_200_999, 1_795_435_201_000, 1_795_435_199_500];
  expect(times.map((at) => (now.mockReturnValue(at), isoTime()))).toEqual(times.map((at) => `,"time":"${new Date(at).toISOString()}"`));
});
