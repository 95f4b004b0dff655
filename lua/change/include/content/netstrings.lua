-- netstrings(content): the parts of a content in this order, each as `<length>:<bytes>,`, and so each of its resources. The digest is over it.
local function netstrings(content)
  local words = {}
  for i, part in ipairs(content) do  -- at most 8: parts of a content
    if i ~= 5 then
      words[#words + 1] = #part .. ':' .. part .. ','
    else
      for name in string.gmatch(part, '[^,]+') do words[#words + 1] = #name .. ':' .. name .. ',' end  -- at most 32: resources
    end
  end
  return table.concat(words)
end
