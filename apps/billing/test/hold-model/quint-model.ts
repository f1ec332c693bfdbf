import { createRequire } from 'node:module';
import { basename, dirname } from 'node:path';
import {
  analyzeModules,
  fileSourceResolver,
  newIdGenerator,
  parse,
  type QuintEx,
  type QuintOpDef,
  quintErrorToString,
} from '@informalsystems/quint';
import type * as Builders from '@informalsystems/quint/dist/src/runtime/impl/builder.js';
import type * as Contexts from '@informalsystems/quint/dist/src/runtime/impl/Context.js';
import type { RuntimeValue } from '@informalsystems/quint/dist/src/runtime/impl/runtimeValue.js';
import type * as Traces from '@informalsystems/quint/dist/src/runtime/trace.js';

/** Values of the variables, in the order of their declarations. */
export type State = readonly Result[];

/** One step: its action, the values that it picked by name, and the state after it. */
export interface Step {
  action: string;
  picks: ReadonlyMap<string, RuntimeValue>;
  next: State;
}

type Evaluate = ReturnType<typeof Builders.buildExpr>;
type Result = ReturnType<Evaluate>;

/** One of the actions of an `any`. */
export interface Branch {
  action: string;
  evaluate: Evaluate;
}

// A choice that disables its action is no step. Quint would take the next choice instead, which comes anyway.
process.env.QUINT_RETRY_NONDET_SMALLER_THAN = '0';
const require = createRequire(import.meta.url);
const RUNTIME = '@informalsystems/quint/dist/src/runtime';
const { Builder, buildExpr } = require(`${RUNTIME}/impl/builder.js`) as typeof Builders;
const { Context } = require(`${RUNTIME}/impl/Context.js`) as typeof Contexts;
const { noExecutionListener } = require(`${RUNTIME}/trace.js`) as typeof Traces;

/** A module of Quint whose steps can be listed. Quint's own evaluator runs it; what it picks at random is picked in order instead. */
export class QuintModel {
  /** Names of the variables. */
  readonly variables: readonly string[];
  private readonly definitions: ReadonlyMap<string, QuintOpDef>;
  private readonly builder: Builders.Builder;
  private readonly context: Contexts.Context;
  private readonly choices = new Choices();

  /** Throws the errors of the parser and of the type checker. */
  constructor(path: string, text: string) {
    const sources = fileSourceResolver(new Map([[path, text]]));
    const { modules, table, errors } = parse(newIdGenerator(), path, sources.lookupPath(dirname(path), basename(path)), text);
    const typeErrors = errors.length > 0 ? [] : analyzeModules(table, modules)[0];
    const messages = [...errors, ...typeErrors].map(quintErrorToString);
    if (messages.length > 0) throw new Error(messages.join('\n'));
    const declarations = modules.flatMap((module) => module.declarations);
    this.definitions = new Map(declarations.flatMap((one) => (one.kind === 'def' ? [[one.name, one]] : [])));
    this.builder = new Builder(table, false);
    for (const one of declarations) if (one.kind === 'var') this.builder.discoverVar(one.id, one.name);
    this.variables = Array.from(this.builder.varStorage.vars.values(), ({ name }) => name);
    this.context = new Context(noExecutionListener as Contexts.Context['recorder'], this.choices.take, this.builder.varStorage);
  }

  /** Returns the state after an action that picks nothing, such as `init`. */
  begin(action: string): State {
    for (const { next } of this.run({ action, evaluate: this.compile(action) })) return next;
    throw new Error(`${action} is not enabled`);
  }

  /** Returns the branches of the `any` of an action, with those of the actions that it names. */
  listBranches(action: string): Branch[] {
    const flatten = (expression: QuintEx): Branch[] => {
      if (expression.kind === 'app' && expression.opcode === 'actionAny') return expression.args.flatMap(flatten);
      const named = expression.kind === 'name' ? this.definitions.get(expression.name)?.expr : undefined;
      if (named?.kind === 'app' && named.opcode === 'actionAny') return flatten(named);
      return [{ action: nameAction(expression), evaluate: buildExpr(this.builder, expression) }];
    };
    return flatten(this.find(action).expr);
  }

  /** Lists the steps that the branches can make from a state. */
  *listSteps(state: State, branches: readonly Branch[]): Generator<Step> {
    this.enter(state);
    for (const branch of branches) {
      this.choices.begin();
      yield* this.run(branch);
    }
  }

  /**
   * Returns a random step: a branch is tried, once, until one is enabled. Undefined when none is. `random` returns an integer below the given one.
   */
  pickStep(state: State, branches: readonly Branch[], random: (bound: number) => number): Step | undefined {
    this.enter(state);
    const left = [...branches];
    while (left.length > 0) {
      const [branch] = left.splice(random(left.length), 1) as [Branch];
      this.choices.begin((bound) => BigInt(random(Number(bound))));
      for (const step of this.run(branch)) return step;
    }
    return undefined;
  }

  /** The state that definitions see from now on. */
  enter(state: State): void {
    let position = 0;
    for (const register of this.builder.varStorage.vars.values()) {
      register.value = state[position++] as Result;
    }
    for (const cached of this.builder.varStorage.cachesToClear) cached.value = undefined;
  }

  /** Returns a function that is true when the definition is true in the state that was entered. */
  compilePredicate(name: string): () => boolean {
    const evaluate = this.compile(name);
    return () => unwrap(evaluate(this.context)).toBool();
  }

  private *run({ action, evaluate }: Branch): Generator<Step> {
    const { varStorage } = this.context;
    do {
      this.choices.restart();
      varStorage.nondetPicks.clear();
      if (!unwrap(evaluate(this.context)).toBool()) continue;
      const next = Array.from(varStorage.nextVars.values(), ({ value }) => value as Result);
      yield { action, picks: new Map(varStorage.nondetPicks as Map<string, RuntimeValue>), next };
    } while (this.choices.advance());
  }

  private compile(name: string): Evaluate {
    return buildExpr(this.builder, this.find(name).expr);
  }

  private find(name: string): QuintOpDef {
    const definition = this.definitions.get(name);
    if (!definition) throw new Error(`${name} is not defined`);
    return definition;
  }
}

/** Stands for the random numbers of an evaluation: takes each combination of them in turn, from the first one that `choose` gives. */
class Choices {
  private taken: { choice: bigint; left: bigint; bound: bigint }[] = [];
  private position = 0;
  private choose: (bound: bigint) => bigint = () => 0n;

  begin(choose: (bound: bigint) => bigint = () => 0n): void {
    this.taken = [];
    this.choose = choose;
  }

  take = (bound: bigint): bigint => {
    const known = this.taken[this.position++];
    if (known) return known.choice;
    const choice = this.choose(bound);
    this.taken.push({ choice, left: bound - 1n, bound });
    return choice;
  };

  restart(): void {
    this.position = 0;
  }

  /** Moves on to the next combination. Returns false after the last one. */
  advance(): boolean {
    for (let last = this.taken.at(-1); last; last = this.taken.at(-1)) {
      if (last.left > 0n) {
        last.left--;
        last.choice = (last.choice + 1n) % last.bound;
        return true;
      }
      this.taken.pop();
    }
    return false;
  }
}

/** `nondet id = … ask(id)` is named `ask`. */
function nameAction(expression: QuintEx): string {
  if (expression.kind === 'let') return nameAction(expression.expr);
  if (expression.kind === 'name') return expression.name;
  if (expression.kind === 'app') return expression.opcode;
  throw new Error('a branch of a step must be an action');
}

function unwrap(result: Result): RuntimeValue {
  if (result.isLeft()) throw new Error(quintErrorToString(result.value));
  return result.value as RuntimeValue;
}
