import { readFileSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import ts from 'typescript';
import { type Schema, SchemaWriter } from './json-schema.ts';

const ROOT = 'libs/contracts/src/every-contract.ts';
const REFUSALS = 'libs/contracts/src/service-error.ts';
type Kind = 'request' | 'stream' | 'event';

/** An endpoint or topic, with JSON schemas from the types and decorators of the sources. */
export interface Contract {
  name: string;
  kind: Kind;
  subject: string;
  description: string;
  isRecorded: boolean;
  /** Each internal service has a subject of its own. */
  isForServices: boolean;
  comment?: string | undefined;
  input: Schema;
  output?: Schema;
}

/** All contracts in the order of their files, and the named schemas with the error codes. */
export interface Contracts {
  contracts: Contract[];
  schemas: Record<string, Schema>;
}

const KINDS: Record<string, Kind> = {
  Endpoint: 'request',
  EveryReplicaEndpoint: 'request',
  ReplicaEndpoint: 'request',
  NamedEndpoint: 'request',
  StreamEndpoint: 'stream',
  Topic: 'event',
};

/** Reads all contracts from the sources. */
export function readContracts(): Contracts {
  const { program, options } = compile([ROOT, REFUSALS]);
  const checker = program.getTypeChecker();
  const writer = new SchemaWriter(checker);
  const folder = dirname(ROOT);
  const files = listImports(sourceFile(program, ROOT), program, options).filter(
    (file) => !relative(folder, file.fileName).startsWith('..'),
  );
  const contracts = files.flatMap((file) =>
    file.statements.filter(ts.isVariableStatement).flatMap((statement) => contractsIn(statement, checker, writer)),
  );
  writer.renderSchema(typeIn(sourceFile(program, REFUSALS), 'ServiceErrorCode', checker));
  return { contracts, schemas: writer.schemas() };
}

/** Reads a class of the sources, and the schemas that it refers to. */
export function readSchemas(path: string, name: string): Record<string, Schema> {
  const { program } = compile([path]);
  const checker = program.getTypeChecker();
  const writer = new SchemaWriter(checker);
  const declaration = sourceFile(program, path)
    .statements.filter(ts.isClassDeclaration)
    .find((one) => one.name?.text === name);
  if (!declaration?.name) throw new Error(`${path} has no class ${name}`);
  writer.renderSchema(checker.getDeclaredTypeOfSymbol(symbolOf(declaration.name, checker)));
  return writer.schemas();
}

function compile(files: string[]): { program: ts.Program; options: ts.CompilerOptions } {
  const { config } = ts.readConfigFile('tsconfig.json', (file) => readFileSync(file, 'utf8'));
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, process.cwd());
  return { program: ts.createProgram(files, { ...options, types: [], noEmit: true }), options };
}

/** The file of a program. @throws {Error} when the program has no such file. */
export function sourceFile(program: ts.Program, path: string): ts.SourceFile {
  const file = program.getSourceFile(path);
  if (!file) throw new Error(`${path} does not exist`);
  return file;
}

/** The symbol of a name in a declaration. */
export function symbolOf(name: ts.Node, checker: ts.TypeChecker): ts.Symbol {
  const symbol = checker.getSymbolAtLocation(name);
  if (!symbol) throw new Error(`${name.getText()} has no symbol`);
  return symbol;
}

function typeIn(file: ts.SourceFile, name: string, checker: ts.TypeChecker): ts.Type {
  const declaration = file.statements.filter(ts.isTypeAliasDeclaration).find((one) => one.name.text === name);
  if (!declaration) throw new Error(`${file.fileName} has no type ${name}`);
  return checker.getDeclaredTypeOfSymbol(symbolOf(declaration.name, checker));
}

function listImports(file: ts.SourceFile, program: ts.Program, options: ts.CompilerOptions): ts.SourceFile[] {
  return file.statements
    .filter(ts.isImportDeclaration)
    .map(({ moduleSpecifier }) => textOf(moduleSpecifier))
    .map((name) => ts.resolveModuleName(name, file.fileName, options, ts.sys).resolvedModule?.resolvedFileName ?? name)
    .map((path) => sourceFile(program, path));
}

function textOf(node: ts.Node | undefined): string {
  if (!node || !ts.isStringLiteralLike(node)) throw new Error('not a literal');
  return node.text;
}

function contractsIn(statement: ts.VariableStatement, checker: ts.TypeChecker, writer: SchemaWriter): Contract[] {
  return statement.declarationList.declarations.flatMap((declaration) => {
    const made = declaration.initializer;
    const kind = made && ts.isNewExpression(made) ? KINDS[made.expression.getText()] : undefined;
    if (!kind) return [];
    const [subject, , rules] = (made as ts.NewExpression).arguments ?? [];
    const findRule = (name: string): ts.Expression | undefined =>
      rules && ts.isObjectLiteralExpression(rules)
        ? rules.properties.filter(ts.isPropertyAssignment).find((property) => property.name.getText() === name)?.initializer
        : undefined;
    const [input, output] = checker.getTypeArguments(checker.getTypeAtLocation(declaration.name) as ts.TypeReference);
    if (!input) throw new Error(`${declaration.name.getText()} has no input`);
    const comment = ts.displayPartsToString(symbolOf(declaration.name, checker).getDocumentationComment(checker));
    return [
      {
        name: declaration.name.getText(),
        kind,
        subject: textOf(subject),
        description: textOf(findRule('about') ?? rules),
        isRecorded: findRule('isRecorded')?.kind === ts.SyntaxKind.TrueKeyword,
        isForServices: findRule('isForServices')?.kind === ts.SyntaxKind.TrueKeyword,
        comment: comment || undefined,
        input: writer.renderSchema(input),
        ...(output && { output: writer.renderSchema(output) }),
      },
    ];
  });
}
