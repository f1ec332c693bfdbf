import { IsInt, IsOptional, IsString, Min } from 'class-validator';
import { Clearable, Nested, NestedList } from '#contracts/billing/fields.js';
import { findFaults } from './find-faults.js';

class Part {
  @IsString() name!: string;
  @IsOptional() @IsInt() @Min(1) count?: number;
}

class Whole {
  @NestedList(() => Part, 2) parts!: Part[];
  @Clearable() @Nested(() => Part) part?: Part | null;
  @IsOptional() @IsInt({ each: true }) numbers?: number[];
}

test.each([
  ['what has all fields', { parts: [{ name: 'a', count: 1 }], numbers: [1] }, []],
  ['null in a field that it clears', { parts: [], part: null }, []],
  ['null in another', { parts: null }, [{ path: ['parts'], problem: 'must not be empty: leave the field out, or write [] for none' }]],
  ['no group of fields', [], [{ path: [], problem: 'must be a group of fields' }]],
  ['a missing field', {}, [{ path: ['parts'], problem: 'is missing' }]],
  ['an unknown field', { parts: [], colour: 'red' }, [{ path: ['colour'], problem: 'is not a field' }]],
  ['no list', { parts: 'a' }, [{ path: ['parts'], problem: 'must be a list' }]],
  ['a wrong item', { parts: [{ name: 'a' }, 'b'] }, [{ path: ['parts', 1], problem: 'must be a group of fields' }]],
  ['an item without a field', { parts: [{ count: 1 }] }, [{ path: ['parts', 0, 'name'], problem: 'is missing' }]],
  [
    'a value out of bounds',
    { parts: [], part: { name: 'a', count: 0 } },
    [{ path: ['part', 'count'], problem: 'must not be less than 1' }],
  ],
  ['a wrong value in a list', { parts: [], numbers: ['a'] }, [{ path: ['numbers'], problem: 'each value must be an integer number' }]],
  [
    'several at once',
    { parts: [{ name: 1, size: 2 }], colour: 'red' },
    [
      { path: ['parts', 0, 'size'], problem: 'is not a field' },
      { path: ['colour'], problem: 'is not a field' },
      { path: ['parts', 0, 'name'], problem: 'must be a string' },
    ],
  ],
])('%s', (_, payload, faults) => {
  expect(findFaults(Whole, payload)).toEqual(faults);
});
