// Asks the server. An expected error is thrown as an Error with the server's one line.

export async function get(path, parameters = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value != null) query.set(name, value);
  }
  return answered(await reached(fetch(`/api/${path}?${query}`)));
}

export async function post(path, body) {
  const headers = { "Content-Type": "application/json" };
  return answered(await reached(fetch(`/api/${path}`, { method: "POST", headers, body: JSON.stringify(body) })));
}

async function reached(request) {
  try {
    return await request;
  } catch {
    throw new Error("the inspector does not answer: was transom inspect ended?");
  }
}

async function answered(response) {
  if (response.ok) return response.json();
  const text = await response.text();
  let said = text.trim();
  try {
    said = JSON.parse(text).error;
  } catch {
    // plain text
  }
  throw new Error(said || `the server answered ${response.status}`);
}
