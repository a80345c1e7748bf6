package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/question"
)

// chat is the half of the evaluation conversations.
const chat = "chat"

// firstChat is above the numbers of all other questions.
const firstChat = 1_000_000

// answerable are the categories of questions whose answer is in the conversation.
const answerable = 4

// chats reads evaluation conversations: each question with every turn, which answers it or does not.
func chats(path string, weight float64) (out []example, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	number := firstChat
	var others, strangers []string // questions and speakers of the conversation before
	for lines.Scan() {
		var c struct {
			Speakers []string
			Turns    []struct {
				ID, Speaker, Text string
				Caption           string `json:"image_caption"`
			}
			QA []struct {
				Question string
				Category int
				Evidence []string
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		texts := make([]question.Text, len(c.Turns))
		for i, t := range c.Turns {
			texts[i] = question.ReadText(t.Text+" "+t.Caption, t.Speaker)
		}
		addQuestion := func(text string, evidence []string) {
			number++
			q := question.Read(text)
			for i, t := range texts {
				out = append(
					out,
					example{measures: question.RelevanceMeasures(q, t), holds: slices.Contains(evidence, c.Turns[i].ID),
						weight: weight, half: chat, question: number, known: len(evidence) > 0},
				)
			}
		}
		for _, qa := range c.QA {
			if len(qa.Evidence) > 0 && qa.Category <= answerable {
				addQuestion(qa.Question, qa.Evidence)
			}
		}
		for _, text := range others { // what the speakers of another conversation were asked about
			addQuestion(rename(text, strangers, c.Speakers), nil)
		}
		others, strangers = nil, c.Speakers
		for _, qa := range c.QA {
			if qa.Category <= answerable {
				others = append(others, qa.Question)
			}
		}
	}
	return out, lines.Err()
}

// rename asks a question about other people.
func rename(asked string, from, to []string) string {
	for i := range min(len(from), len(to)) {
		asked = strings.ReplaceAll(asked, from[i], to[i])
	}
	return asked
}
