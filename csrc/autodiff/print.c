#include "autodiff/print.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "autodiff/leaf.h"
#include "autodiff/order.h"
#include "runtime/alloc.h"
#include "runtime/failure.h"
#include "runtime/scalar.h"

/* ------------------------------------------------- text that grows */

typedef struct text {
    char *bytes;
    size_t length, capacity;
    bool failed;
} text;

static bool reserve(text *t, size_t more)
{
    if (t->length + more + 1 <= t->capacity)
        return true;
    size_t capacity = (t->length + more + 1) * 2;
    char *larger = hm_realloc(t->bytes, capacity);
    if (!larger) {
        t->failed = true;
        return false;
    }
    t->bytes = larger;
    t->capacity = capacity;
    return true;
}

__attribute__((format(printf, 2, 3))) static void say(text *t, const char *format, ...)
{
    char piece[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(piece, sizeof piece, format, arguments);
    va_end(arguments);
    size_t n = strlen(piece);
    if (t->failed || !reserve(t, n))
        return;
    memcpy(t->bytes + t->length, piece, n + 1);
    t->length += n;
}

static hm_status publish(hm_context *ctx, text *t, hm_value **out)
{
    hm_status st =
        t->failed ? hm_fail_memory(ctx) : hm_string_create(ctx, t->bytes, t->length, out);
    hm_free(t->bytes);
    return st;
}

static void say_number(text *t, double x)
{
    char number[HM_NUMBER];
    say(t, "%s", hm_number_text(x, number));
}

/* ------------------------------------------------- what to call a node */

static void say_name(text *t, const hm_node *node)
{
    const char *name = hm_variable_name(node);
    if (!*name)
        say(t, "variable");
    for (; *name; name++) /* quotes and what is not text would break the picture */
        say(t, "%c", *name == '"' || *name == '\\' || (unsigned char)*name < ' ' ? '_' : *name);
}

static void say_label(text *t, const hm_node *node)
{
    char shape_text[128];
    hm_shape shape = hm_node_shape(node);
    hm_shape_text(&shape, shape_text, sizeof shape_text);
    if (node->op == &hm_op_variable)
        say_name(t, node);
    else if (node->op == &hm_op_constant && node->rank == 0)
        say_number(t, *hm_constant_data(node));
    else
        say(t, "%s", hm_op_word(node->op));
    if (node->rank)
        say(t, " %s", shape_text);
}

static const char *look_of(const hm_node *node)
{
    if (node->op == &hm_op_variable)
        return "shape=ellipse, style=filled, fillcolor=\"#d6eaf8\"";
    if (node->op == &hm_op_constant)
        return "shape=plain";
    return "shape=box, style=rounded";
}

hm_status hm_print_dot(hm_context *ctx, hm_node *const *outputs, int64_t n, hm_value **out)
{
    text t = {0};
    hm_order order;
    hm_status st = hm_order_create(ctx, outputs, n, &order);
    if (st != HMATH_OK)
        return st;
    say(&t, "digraph {\n  rankdir=BT; node [fontname=\"sans-serif\"];\n");
    for (int64_t i = 0; i < order.count; i++) {
        say(&t, "  n%lld [label=\"", (long long)i);
        say_label(&t, order.nodes[i]);
        say(&t, "\", %s];\n", look_of(order.nodes[i]));
        for (int32_t k = 0; k < order.nodes[i]->count; k++)
            say(&t, "  n%d -> n%lld;\n", hm_order_input(&order, i, k), (long long)i);
    }
    for (int64_t j = 0; j < n; j++)
        say(&t, "  n%lld [peripheries=2];\n", (long long)hm_order_find(&order, outputs[j]));
    say(&t, "}\n");
    hm_order_free(&order);
    return publish(ctx, &t, out);
}

/* ------------------------------------------------- formulas */

enum { MOST_OPERANDS = 6 };

/* "..." stands for what lies deeper, or begins behind so many bytes. */
typedef struct limits {
    int depth;
    size_t length;
} limits;

static const limits whole = {24, 400}, in_brief = {5, 60};

static const struct {
    const char *word, *sign;
    int binding; /* how tightly: a looser operand is put in parentheses */
} infix[] = {
    {"add", " + ", 1},      {"subtract", " - ", 1},    {"less", " < ", 0},
    {"multiply", " * ", 2}, {"divide", " / ", 2},      {"matmul", " @ ", 2},
    {"power", " ** ", 4},   {"less_equal", " <= ", 0}, {"equal", " == ", 0},
};

static int infix_of(const hm_node *node)
{
    if (node->count == 2)
        for (int i = 0; i < (int)(sizeof infix / sizeof infix[0]); i++)
            if (strcmp(hm_op_word(node->op), infix[i].word) == 0)
                return i;
    return -1;
}

/* The depth is bounded, so this one function may call itself. */
static void say_formula(text *t, limits most, const hm_node *node, int depth, int outer)
{
    int sign = infix_of(node);
    if (depth == most.depth || t->length > most.length) {
        say(t, "...");
    } else if (node->op == &hm_op_variable) {
        say_name(t, node);
    } else if (node->op == &hm_op_constant && node->rank == 0) {
        say_number(t, *hm_constant_data(node));
    } else if (node->op == &hm_op_constant) {
        say(t, "constant");
    } else if (sign >= 0) {
        bool loose = infix[sign].binding < outer;
        say(t, "%s", loose ? "(" : "");
        say_formula(t, most, node->inputs[0], depth + 1, infix[sign].binding);
        say(t, "%s", infix[sign].sign);
        say_formula(t, most, node->inputs[1], depth + 1, infix[sign].binding + 1);
        say(t, "%s", loose ? ")" : "");
    } else if (strcmp(hm_op_word(node->op), "negate") == 0) {
        say(t, "-");
        say_formula(t, most, node->inputs[0], depth + 1, 3);
    } else {
        say(t, "%s(", hm_op_word(node->op));
        for (int32_t i = 0; i < node->count && i < MOST_OPERANDS; i++) {
            say(t, "%s", i ? ", " : "");
            say_formula(t, most, node->inputs[i], depth + 1, 0);
        }
        say(t, "%s", node->count > MOST_OPERANDS ? ", ...)" : ")");
    }
}

hm_status hm_print_text(hm_context *ctx, const hm_node *node, hm_value **out)
{
    text t = {0};
    say_formula(&t, whole, node, 0, 0);
    return publish(ctx, &t, out);
}

void hm_print_brief(const hm_node *node, char brief[HM_BRIEF])
{
    text t = {0};
    say_formula(&t, in_brief, node, 0, 0);
    const bool fits = !t.failed && t.length < HM_BRIEF;
    snprintf(brief, HM_BRIEF, "%s", fits ? t.bytes : "");
    hm_free(t.bytes);
}
