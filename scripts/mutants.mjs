/**
 * The mutants of a source file: copies of it that differ in one place, which its tests should notice.
 *
 * Texts aren't changed, because no test should repeat the words of each message. Types aren't either: they don't run.
 */
import { parseSync } from "oxc-parser";

/** The boundary moves by one, or the comparison turns around. */
const comparisons = {
  "<": ["<=", ">="],
  "<=": ["<", ">"],
  ">": [">=", "<="],
  ">=": [">", "<"],
};
const equalities = { "===": "!==", "!==": "===", "==": "!=", "!=": "==" };
const arithmetic = {
  ...{ "+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "**": "*" },
  ...{ "&": "|", "|": "&", "^": "&", "<<": ">>", ">>": "<<", ">>>": "<<" },
};
const methods = {
  ...{ some: "every", every: "some", min: "max", max: "min", floor: "ceil", ceil: "floor" },
  ...{
    startsWith: "endsWith",
    endsWith: "startsWith",
    push: "unshift",
    unshift: "push",
    shift: "pop",
    pop: "shift",
  },
};
const loops = new Set(["ForStatement", "WhileStatement", "DoWhileStatement"]);
const texts = new Set(["TemplateLiteral", "Literal"]);

/** Returns the mutants of a file in its order. Each replaces the source from `start` to `end` with `text`. */
export function mutantsOf(source, path) {
  const mutants = [];
  /** Nodes that another mutant has removed already. */
  const covered = new Set();
  visit(parseSync(path, source).program);
  return mutants.filter(parses).sort((a, b) => a.start - b.start || a.end - b.end);

  function visit(node) {
    if (Array.isArray(node)) return node.forEach(visit);
    if (typeof node?.type !== "string" || /^(Import|ExportAll)/.test(node.type)) return;
    // An assertion such as `x as T` has an expression that runs.
    if (node.type.startsWith("TS")) return visit(node.expression);
    mutate(node);
    for (const [name, child] of Object.entries(node)) {
      const isName = name === "key" && !node.computed;
      if (!isName && child !== null && typeof child === "object") visit(child);
    }
  }

  function mutate(node) {
    const { type, operator, argument } = node;
    if (node.test && type !== "SwitchCase") mutateCondition(node);
    if (type === "LogicalExpression") {
      const at = source.indexOf(operator, node.left.end);
      const rest = source.slice(at + operator.length, node.end).trimStart();
      add(source.slice(0, at).trimEnd().length, node.end, "");
      add(node.start, node.end - rest.length, "");
    }
    if (type === "BinaryExpression") mutateOperator(node, operatorsFor(node));
    if (type === "AssignmentExpression" && arithmetic[operator.slice(0, -1)])
      mutateOperator(node, [`${arithmetic[operator.slice(0, -1)]}=`]);
    if (type === "UpdateExpression" && !covered.has(node))
      replace(node, source.slice(node.start, node.end).replace(operator, operator === "++" ? "--" : "++"));
    if (type === "UnaryExpression" && "!-~".includes(operator) && !covered.has(node))
      add(node.start, node.start + 1, "");
    if (type === "AssignmentPattern") replace(node.right, "undefined");
    // Of what a comparison returns, only the sign counts.
    if (type === "ConditionalExpression" && [node.consequent, node.alternate].every(isNumber))
      for (const each of [node.consequent, node.alternate]) covered.add(each.argument ?? each);
    if (type === "Literal" && !covered.has(node)) mutateLiteral(node);
    if (type === "ArrayExpression" && node.elements.length > 0) replace(node, "[]");
    if (type === "MemberExpression" || type === "CallExpression") mutateAccess(node);
    if (type === "ReturnStatement" && argument && !isConstant(argument)) replace(node, "return undefined;");
    if (type === "ArrowFunctionExpression" && node.expression && !isConstant(node.body))
      replace(node.body, "undefined");
    if (covered.has(node)) return;
    if (["ThrowStatement", "BreakStatement", "ContinueStatement"].includes(type)) replace(node, ";");
    if (type === "ExpressionStatement" && !node.directive)
      // What follows an awaited call still runs later.
      replace(node, node.expression.type === "AwaitExpression" ? "await undefined;" : ";");
    // A single statement is removed by itself.
    if (type === "BlockStatement" && node.body.length > 1) replace(node, "{}");
  }

  function mutateCondition({ type, test, update, consequent, alternate }) {
    replace(test, "false");
    // A loop without end takes the whole time limit.
    if (loops.has(type)) covered.add(update);
    else replace(test, "true");
    covered.add(test);
    if (!alternate) covered.add(consequent);
  }

  function operatorsFor(node) {
    const { operator, left, right } = node;
    if (comparisons[operator]) return comparisons[operator];
    if (equalities[operator]) return covered.has(node) ? [] : [equalities[operator]];
    const isText = [left, right].some(({ type, value }) => texts.has(type) && typeof value !== "number");
    return arithmetic[operator] && !isText ? [arithmetic[operator]] : [];
  }

  function mutateOperator({ operator, left, right }, operators) {
    const at = source.indexOf(operator, left.end);
    if (at < right.start) for (const text of operators) add(at, at + operator.length, text);
  }

  function mutateLiteral(node) {
    const { value } = node;
    if (typeof value === "boolean") replace(node, `${!value}`);
    if (typeof value === "number") replace(node, `${value + 1}`);
    if (typeof value === "bigint") replace(node, `${value + 1n}n`);
  }

  function mutateAccess({ type, optional, object, callee, computed }) {
    const name = callee?.property;
    if (name && Object.hasOwn(methods, name.name)) replace(name, methods[name.name]);
    if (!optional) return;
    const at = source.indexOf("?.", (object ?? callee).end);
    add(at, at + 2, type === "MemberExpression" && !computed ? "." : "");
  }

  /** `object && { … }` without its first operand is a block after an arrow. */
  function parses(mutant) {
    return parseSync(path, applied(source, mutant)).errors.length === 0;
  }

  function replace({ start, end }, text) {
    add(start, end, text);
  }

  function add(start, end, text) {
    mutants.push({ start, end, text });
  }
}

export function applied(source, { start, end, text }) {
  return source.slice(0, start) + text + source.slice(end);
}

function isNumber({ type, value, operator, argument }) {
  return type === "UnaryExpression" && operator === "-" ? isNumber(argument) : typeof value === "number";
}

/** Other mutants change a literal, and a function without a result needs none. */
function isConstant({ type, value, name, operator }) {
  return (type === "Literal" && typeof value !== "string") || name === "undefined" || operator === "void";
}

/** Returns a mutant's line, and the lines that it changes as they were and are, each on one line. */
export function describe(source, { start, end, text }) {
  const from = source.lastIndexOf("\n", start - 1) + 1;
  const to = (source.indexOf("\n", end) + source.length + 1) % (source.length + 1);
  return {
    line: source.slice(0, start).split("\n").length,
    before: onOneLine(source.slice(from, to)),
    after: onOneLine(source.slice(from, start) + text + source.slice(end, to)),
  };
}

function onOneLine(code) {
  const line = code.replace(/\s+/g, " ").trim();
  return line.length <= 160 ? line : `${line.slice(0, 100)} … ${line.slice(-40)}`;
}
