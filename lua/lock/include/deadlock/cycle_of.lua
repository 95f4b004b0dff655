-- cycle_of(request, search): the cycle that a search has found, as `<owner><code>><resource>` for each owner: it waits
-- for the resource in that mode, and the next owner holds it or waits ahead. Also the waits of the others, in that
-- order. A cycle of more than 256 owners or 30,000 bytes is cut, with `+<n>` for the rest.
local function cycle_of(request, search)
  local block = search.hard or search.maybe
  local words, nodes = { request.owner .. '>' .. search.wants[block.resource] .. '>' .. block.resource }, {}
  local node, size = search.found[block.owner], #words[1]
  local length = 1 + (node and node.depth or 0)
  while node and #words < 256 and size < 30000 do -- at most 256: words
    words[#words + 1] = node.owner .. '>' .. node.code .. '>' .. node.resource
    nodes[#nodes + 1] = node
    size = size + 1 + #words[#words]
    node = search.found[node.waits_for]
  end
  if node then words[#words + 1] = string.format('+%d', length - #words) end
  return table.concat(words, ' '), nodes
end
