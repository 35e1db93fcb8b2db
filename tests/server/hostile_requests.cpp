// The table.
#include "tests/server/hostile_requests.h"

#include "tests/server/raw_client.h"

namespace headlight::test {
namespace {

class Table {
 public:
  explicit Table(uint16_t port)
      : port_(port), host_("host: 127.0.0.1:" + std::to_string(port) + "\r\n") {}

  void add(const std::string& name, const std::string& bytes, int status = 400) {
    rows.push_back({name, bytes, status});
  }
  // A request line, with all that should follow it.
  void line(const std::string& name, const std::string& text, int status = 400) {
    add("line: " + name, text + "\r\n" + host_ + "\r\n", status);
  }
  void path(const std::string& text, int status = 400) {
    add("path: " + text, get(port_, text), status);
  }
  // Headers instead of Host's own.
  void headers(const std::string& name, const std::string& lines, int status = 400) {
    add("headers: " + name, "GET /health HTTP/1.1\r\n" + lines + "\r\n", status);
  }
  void header(const std::string& name, const std::string& lines, int status = 400) {
    headers(name, host_ + lines, status);
  }
  // To /echo, with headers about the body and the body.
  void body(const std::string& name, const std::string& lines, const std::string& bytes,
            int status = 400) {
    add("body: " + name,
        "POST /echo HTTP/1.1\r\n" + host_ + "content-type: application/json\r\n" + lines + "\r\n" +
            bytes,
        status);
  }
  void chunks(const std::string& name, const std::string& bytes, int status = 400) {
    body("chunks: " + name, "transfer-encoding: chunked\r\n", bytes, status);
  }
  void json(const std::string& name, const std::string& text, int status = 400) {
    add("json: " + name, post(port_, "/echo", text), status);
  }
  void broken_off(const std::string& name, const std::string& bytes) {
    rows.push_back({"broken off: " + name, bytes, 0, true});
  }

  uint16_t port_;
  std::string host_;
  std::vector<HostileRequest> rows;
};

void add_request_lines(Table& table) {
  table.line("a method alone", "GET");
  table.line("no version", "GET /health");
  table.line("version 2.0", "GET /health HTTP/2.0");
  table.line("version 0.9", "GET /health HTTP/0.9");
  table.line("version 1.2", "GET /health HTTP/1.2");
  table.line("version 11", "GET /health HTTP/11");
  table.line("version in small letters", "GET /health http/1.1");
  table.line("another protocol", "GET /health FTP/1.1");
  table.line("two blanks", "GET  /health HTTP/1.1");
  table.line("a word too many", "GET /health HTTP/1.1 x");
  table.line("a blank before it", " GET /health HTTP/1.1");
  table.line("a blank after it", "GET /health HTTP/1.1 ");
  table.line("tabs", "GET\t/health\tHTTP/1.1");
  table.line("a method with @", "G@T /health HTTP/1.1");
  table.line("no method", " /health HTTP/1.1");
  table.line("no target", "GET  HTTP/1.1");
  table.line("a relative target", "GET health HTTP/1.1");
  table.line("* with GET", "GET * HTTP/1.1");
  table.line("another server", "GET http://evil.example/health HTTP/1.1");
  table.line("another scheme", "GET ftp://127.0.0.1/health HTTP/1.1");
  table.line("a scheme alone", "GET http:// HTTP/1.1");
  table.line("CONNECT", "CONNECT 127.0.0.1:80 HTTP/1.1");
  table.line("a fragment", "GET /health#top HTTP/1.1");
  table.line("two slashes", "GET //evil.example/health HTTP/1.1", 404);
  table.line("a long target", "GET /" + std::string(9000, 'a') + " HTTP/1.1", 414);
  table.line("a long query", "GET /health?" + std::string(9000, 'a') + " HTTP/1.1", 414);
  table.line("a long method", std::string(9000, 'A') + " / HTTP/1.1", 414);
  table.line("a long version", "GET /health " + std::string(9000, 'H'), 414);
  table.add("line: without an end", std::string(200'000, 'G'), 414);
  table.add("line: LF alone", "GET /health HTTP/1.1\n" + table.host_ + "\r\n");
  table.add("line: CR alone", "GET /health HTTP/1.1\r" + table.host_ + "\r\n");
  table.add("line: LF LF", "GET /health HTTP/1.1\n\n");
  table.add("a TLS greeting",
            std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 15));
  table.add("HTTP/2's preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  table.add("an SSH greeting", "SSH-2.0-OpenSSH_9.2\r\n\r\n");
  table.add("NUL first", std::string("\0GET /health HTTP/1.1\r\n\r\n", 25));
  table.add("NUL in the method", std::string("GE\0T /health HTTP/1.1\r\n\r\n", 25));
}

void add_paths(Table& table) {
  for (const char* path : {"/..",
                           "/../etc/passwd",
                           "/echo/../health",
                           "/echo/..",
                           "/./health",
                           "/%2e%2e/etc/passwd",
                           "/%2E%2e/health",
                           "/echo/..%2f..%2fetc%2fpasswd",
                           "/echo/%2e%2e%2fhealth",
                           "/echo/..%5c..%5cboot.ini",
                           "/echo/..\\x",
                           "/echo/a%2f..%2fb",
                           "/%",
                           "/%4",
                           "/%zz",
                           "/echo/%",
                           "/echo/%f",
                           "/echo/%0",
                           "/echo/%00",
                           "/echo/a%00b",
                           "/%00",
                           "/echo/%ff",
                           "/echo/%c0%ae",
                           "/echo/%ed%a0%80",
                           "/echo/%f4%90%80%80",
                           "/echo/%e2%82",
                           "/echo/%0a",
                           "/echo/%0d%0aset-cookie:%20a",
                           "/echo/%7f",
                           "/echo/%1b%5b31m",
                           "/echo/\xff",
                           "/echo/\xc3\x28",
                           "/echo/\x01",
                           "/echo/\x7f",
                           "/health?a=1&a=2",
                           "/health?%61=1&a=2",
                           "/health?a=%",
                           "/health?a=%ff",
                           "/health?a=%00",
                           "/health?%=1"}) {
    table.path(path);
  }
  table.add("path: NUL", std::string("GET /echo/a\0b HTTP/1.1\r\n", 24) + table.host_ + "\r\n");
  for (const char* path : {"/none", "/health/", "/HEALTH", "/echo/", "/echo/a/b", "/health%2f",
                           "/export/.html", "/export/name.", "/api", "/etc/passwd"}) {
    table.path(path, 404);
  }
  std::string names;
  for (int i = 0; i < 65; ++i) names += "&n" + std::to_string(i) + "=1";
  table.path("/health?" + names.substr(1));
}

void add_hosts(Table& table) {
  const std::string port = std::to_string(table.port_);
  table.headers("none", "");
  table.add("headers: HTTP/1.0 without Host", "GET /health HTTP/1.0\r\n\r\n");
  table.headers("two hosts", table.host_ + table.host_);
  table.headers("two different hosts", table.host_ + "host: evil.example\r\n");
  for (const std::string& host : {std::string(),
                                  std::string("evil.example"),
                                  "evil.example:" + port,
                                  "127.0.0.1:" + port + ".evil.example",
                                  "localhost.evil.example:" + port,
                                  "127.0.0.1@evil.example:" + port,
                                  std::string("127.0.0.1"),
                                  std::string("localhost"),
                                  std::string("127.0.0.1:1"),
                                  "0.0.0.0:" + port,
                                  "[::2]:" + port,
                                  "2130706433:" + port,
                                  "0x7f.1:" + port,
                                  "127.1:" + port,
                                  "127.0.0.1:" + port + ",evil.example",
                                  "http://127.0.0.1:" + port,
                                  "127.0.0.1:" + port + "/",
                                  "127.0.0.1:0" + port,
                                  "127.0.0.1:+" + port,
                                  ":" + port,
                                  "[:" + port,
                                  "::1:" + port}) {
    table.headers("host " + host, "host: " + host + "\r\n", 403);
  }
  for (const std::string& origin :
       {std::string("http://evil.example"), std::string("null"), std::string("file://"),
        "http://localhost:" + port, "https://127.0.0.1:" + port, std::string("http://127.0.0.1"),
        std::string("http://127.0.0.1:1"), "http://127.0.0.1:" + port + ".evil.example",
        "http://127.0.0.1:" + port + "/", std::string()}) {
    table.header("origin " + origin, "origin: " + origin + "\r\n", 403);
  }
  const std::string own = "origin: http://127.0.0.1:" + port + "\r\n";
  table.header("two origins", own + own, 403);
}

void add_headers(Table& table) {
  table.header("no colon", "nonsense\r\n");
  table.header("a blank before the colon", "accept : a\r\n");
  table.header("no name", ": a\r\n");
  table.header("a name with a blank", "a b: c\r\n");
  table.header("a name beyond ASCII", "\xc3\xa4: c\r\n");
  table.header("a folded value", "accept: a\r\n  b\r\n");
  table.header("a folded first line", "accept:\r\n\tb\r\n");
  table.header("NUL in a value", std::string("accept: a\0b\r\n", 13));
  table.header("a control in a value", "accept: a\x01z\r\n");
  table.header("DEL in a value", "accept: a\x7fz\r\n");
  table.header("CR in a value", "accept: a\rb: c\r\n");
  table.header("LF in a value", "accept: a\nb: c\r\n");
  table.header("a value that is not UTF-8", "accept: \xff\xfe\r\n");
  table.header("something to expect", "expect: miracles\r\n", 417);
  std::string many;
  for (int i = 0; i < 101; ++i) many += "a" + std::to_string(i) + ": b\r\n";
  table.header("101 of them", many, 431);
  table.header("one of 40,000 bytes", "a: " + std::string(40'000, 'b') + "\r\n", 431);
  table.header("a name of 40,000 bytes", std::string(40'000, 'a') + ": b\r\n", 431);
  table.add("headers: without an end",
            "GET /health HTTP/1.1\r\n" + table.host_ + "a: " + std::string(300'000, 'b'), 431);
  std::string large;
  for (int i = 0; i < 90; ++i)
    large += "a" + std::to_string(i) + ": " + std::string(500, 'b') + "\r\n";
  table.header("45,000 bytes in 90 of them", large, 431);
}

void add_framings(Table& table) {
  const std::string chunked = "transfer-encoding: chunked\r\n";
  table.body("both framings", "content-length: 2\r\n" + chunked, "2\r\n{}\r\n0\r\n\r\n");
  table.body("both framings, chunked first", chunked + "content-length: 2\r\n",
             "2\r\n{}\r\n0\r\n\r\n");
  for (const char* length : {"-1", "+2", "2, 2", "2,3", "0x2", "1e3", "", "2 2", "two", "2.0",
                             "18446744073709551616", "99999999999999999999999999", "\"2\"", "2;"}) {
    table.body("length " + std::string(length), "content-length: " + std::string(length) + "\r\n",
               "{}");
  }
  table.body("length over the limit", "content-length: 1001\r\n", std::string(1001, ' '), 413);
  table.body("a huge length", "content-length: 18446744073709551615\r\n", "{}", 413);
  table.body("length twice", "content-length: 2\r\ncontent-length: 2\r\n", "{}");
  table.body("two lengths", "content-length: 2\r\ncontent-length: 3\r\n", "{} ");
  for (const char* coding : {"gzip", "gzip, chunked", "chunked, gzip", "chunked, chunked",
                             "xchunked", "identity", "", "chunked;q=1", "\"chunked\""}) {
    table.body("coding " + std::string(coding),
               "transfer-encoding: " + std::string(coding) + "\r\n", "2\r\n{}\r\n0\r\n\r\n");
  }
  table.body("coding twice", chunked + chunked, "2\r\n{}\r\n0\r\n\r\n");
  table.add("body: chunks in HTTP/1.0", "POST /echo HTTP/1.0\r\n" + table.host_ +
                                            "content-type: application/json\r\n" + chunked +
                                            "\r\n2\r\n{}\r\n0\r\n\r\n");
}

void add_chunks(Table& table) {
  table.chunks("size -2", "-2\r\n{}\r\n0\r\n\r\n");
  table.chunks("size of 17 digits", "fffffffffffffffff\r\n{}\r\n0\r\n\r\n");
  table.chunks("size of 16 digits", "ffffffffffffffff\r\n{}\r\n0\r\n\r\n", 413);
  table.chunks("no size", "\r\n{}\r\n0\r\n\r\n");
  table.chunks("size g", "g\r\n{}\r\n0\r\n\r\n");
  table.chunks("size 0x2", "0x2\r\n{}\r\n0\r\n\r\n");
  table.chunks("a blank before the size", " 2\r\n{}\r\n0\r\n\r\n");
  table.chunks("size +2", "+2\r\n{}\r\n0\r\n\r\n");
  table.chunks("more than the size", "2\r\n{} \r\n0\r\n\r\n");
  table.chunks("no end of the data", "2\r\n{}0\r\n\r\n");
  table.chunks("LF after the size", "2\n{}\r\n0\r\n\r\n");
  table.chunks("LF after the data", "2\r\n{}\n0\r\n\r\n");
  table.chunks("one over the limit", "3e9\r\n" + std::string(1001, ' ') + "\r\n0\r\n\r\n", 413);
  std::string small;
  for (int i = 0; i < 1001; ++i) small += "1\r\n \r\n";
  table.chunks("many over the limit", small + "0\r\n\r\n", 413);
  table.chunks("a size line of 20,000 bytes",
               "2;" + std::string(20'000, 'a') + "\r\n{}\r\n0\r\n\r\n");
  table.chunks("a size of 20,000 zeros", std::string(20'000, '0'));
  std::string extended;
  for (int i = 0; i < 900; ++i) extended += "1;" + std::string(1000, 'a') + "\r\n \r\n";
  table.chunks("900,000 bytes of extensions", extended + "0\r\n\r\n", 413);
  table.chunks("trailers without a colon", "2\r\n{}\r\n0\r\nnonsense\r\n\r\n");
  table.chunks("trailers of 100,000 bytes",
               "2\r\n{}\r\n0\r\na: " + std::string(100'000, 'b') + "\r\n\r\n");
}

void add_bodies(Table& table) {
  const auto typed = [&](const std::string& type) {
    return post(table.port_, "/echo", "{}", type);
  };
  table.add("type: none", typed(""), 415);
  for (const char* type : {"text/plain", "application/x-www-form-urlencoded", "multipart/form-data",
                           "application/jsonx", "json", "application/json, text/plain", "", "*/*",
                           "application/octet-stream"}) {
    table.add("type: " + std::string(type), typed("content-type: " + std::string(type) + "\r\n"),
              415);
  }
  table.add("type: twice",
            typed("content-type: application/json\r\ncontent-type: application/json\r\n"), 415);
  table.add("type: compressed",
            typed("content-type: application/json\r\ncontent-encoding: gzip\r\n"), 415);
  table.json("nothing", "");
  table.json("half an object", "{");
  table.json("a word", "nonsense");
  table.json("two documents", "{} {}");
  table.json("a key twice", R"({"a":1,"a":2})");
  table.json("400 levels", std::string(400, '['));
  table.json("not UTF-8", "\"\xff\"");
  table.json("half a letter", "\"\xe2\x82");
  table.json("NUL", std::string("{\0}", 3));
  table.json("a BOM in UTF-16", std::string("\xff\xfe{\0}\0", 6));
  table.json("1001 bytes", std::string(1001, ' '), 413);
}

void add_methods(Table& table) {
  for (const char* method :
       {"POST", "PUT", "DELETE", "PATCH", "TRACE", "BREW", "get", "GETS", "PROPFIND"}) {
    table.line(std::string(method) + " /health", std::string(method) + " /health HTTP/1.1", 405);
  }
  table.line("GET /echo", "GET /echo HTTP/1.1", 405);
  table.line("DELETE /echo/1", "DELETE /echo/1 HTTP/1.1", 405);
}

void add_broken_off(Table& table) {
  const std::string head =
      "POST /echo HTTP/1.1\r\n" + table.host_ + "content-type: application/json\r\n";
  table.broken_off("nothing", "");
  table.broken_off("a letter", "G");
  table.broken_off("a request line", "GET /health HTTP/1.1\r\n");
  table.broken_off("half a header", "GET /health HTTP/1.1\r\nhos");
  table.broken_off("headers", "GET /health HTTP/1.1\r\n" + table.host_);
  table.broken_off("a body to come", head + "content-length: 10\r\n\r\n");
  table.broken_off("half a body", head + "content-length: 10\r\n\r\n{\"a\"");
  table.broken_off("a chunk to come", head + "transfer-encoding: chunked\r\n\r\n");
  table.broken_off("half a size", head + "transfer-encoding: chunked\r\n\r\n5");
  table.broken_off("half a chunk", head + "transfer-encoding: chunked\r\n\r\n5\r\n{}");
  table.broken_off("no last chunk", head + "transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n");
  table.broken_off("half the last chunk",
                   head + "transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n");
  table.broken_off("empty lines", "\r\n\r\n\r\n\r\n");
}

}  // namespace

std::vector<HostileRequest> hostile_requests(uint16_t port) {
  Table table(port);
  add_request_lines(table);
  add_paths(table);
  add_hosts(table);
  add_headers(table);
  add_framings(table);
  add_chunks(table);
  add_bodies(table);
  add_methods(table);
  add_broken_off(table);
  return table.rows;
}

}  // namespace headlight::test
