-- circle_of(request, search): the circle that a search has found: `<owner>><code>><resource>` for each, who waits for
-- the resource in that mode, which the next has or is ahead for; and the waits of the others, in that order.
local function circle_of(request, search)
  local block = search.hard or search.maybe
  local words, nodes = { request.owner .. '>' .. search.wants[block.resource] .. '>' .. block.resource }, {}
  local node = search.found[block.owner]
  while node and #words < 64 do  -- at most 64: words
    words[#words + 1] = node.owner .. '>' .. node.code .. '>' .. node.resource
    nodes[#nodes + 1] = node
    node = search.found[node.waits_for]
  end
  return table.concat(words, ' '), nodes
end
